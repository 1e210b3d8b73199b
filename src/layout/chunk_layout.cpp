#include "layout/chunk_layout.hpp"

#include "base/assert.hpp"

namespace sheaf::layout {

int64_t ChunkGeometry::offset(int64_t chunk) const {
  SHEAF_DEBUG_ASSERT(chunk >= 0);
  const auto begin = checked_mul_add(chunk, skip, start);
  const auto end = begin ? checked_add(*begin, size) : std::nullopt;
  must_fit(end, "the multifile");
  return *begin;
}

FileLayout lay_out(std::span<const int64_t> chunk_sizes, int64_t fsblksize) {
  FileLayout layout{.data_start = data_start(std::ssize(chunk_sizes), fsblksize)};
  layout.starts.reserve(chunk_sizes.size());
  int64_t at = layout.data_start;
  for (const int64_t size : chunk_sizes) {
    SHEAF_DEBUG_ASSERT(size >= 0);  // offsets ascend
    layout.starts.push_back(at);
    at = must_fit(checked_add(at, size), "the sum of the chunk sizes");
  }
  layout.skip = at - layout.data_start;
  return layout;
}

}  // namespace sheaf::layout

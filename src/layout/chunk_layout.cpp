#include "layout/chunk_layout.hpp"

namespace sheaf::layout {

int64_t ChunkGeometry::offset(int64_t chunk) const {
  const auto begin = checked_mul_add(chunk, skip, start);
  const auto end = begin ? checked_add(*begin, size) : std::nullopt;
  must_fit(end, "the multifile");
  return *begin;
}

int64_t data_start(int64_t ntasks, int64_t fsblksize) {
  return must_fit(align_up(1088 + 16 * ntasks, fsblksize), "the header of the multifile");
}

std::optional<int64_t> end_of_rounds(int64_t ntasks, int64_t fsblksize, int64_t rounds, int64_t skip) {
  return checked_mul_add(rounds, skip, data_start(ntasks, fsblksize));
}

int64_t meta2_size(int64_t ntasks, int64_t maxblocks) {
  return must_fit(checked_mul(8 * ntasks, 1 + maxblocks), "the block table of the multifile");
}

int64_t aligned_chunk(int64_t requested, int64_t fsblksize) {
  return must_fit(align_up(requested, fsblksize), "the chunk size");
}

FileLayout lay_out(std::span<const int64_t> chunk_sizes, int64_t fsblksize) {
  FileLayout layout{.data_start = data_start(std::ssize(chunk_sizes), fsblksize)};
  layout.starts.reserve(chunk_sizes.size());
  int64_t at = layout.data_start;
  for (const int64_t size : chunk_sizes) {
    layout.starts.push_back(at);
    at = must_fit(checked_add(at, size), "the sum of the chunk sizes");
  }
  layout.skip = at - layout.data_start;
  return layout;
}

}  // namespace sheaf::layout

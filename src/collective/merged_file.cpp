#include "collective/merged_file.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace sheaf {

MergedFile::MergedFile(WriteStream& stream, std::span<const int64_t> sizes) : stream_(stream), begins_{0} {
  for (const int64_t size : sizes)
    if (size > 0) begins_.push_back(begins_.back() + size);
}

void MergedFile::refuse() { throw Error(Code::unsupported, "merged bytes are only written"); }

void MergedFile::write_at(std::span<const std::byte> data, int64_t offset) {
  const auto begin = std::ranges::lower_bound(begins_, offset);
  if (begin + 1 < begins_.end() && *begin == offset) {
    const int64_t whole = *(begin + 1) - *begin;
    if (whole <= stream_.geometry().size) stream_.ensure_free_space(whole);
  }
  stream_.write_filling({}, data);
}

}  // namespace sheaf

#include "multifile/stream/block_sizes.hpp"

#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

int64_t BlockSizes::next_used(int64_t block) const {
  for (; block < count; ++block) {
    if (source_) block = std::min<int64_t>(count, source_->next_candidate(block));
    if (block >= count || (*this)[block] != 0) break;
  }
  return std::min<int64_t>(block, count);
}

int64_t BlockSizes::total() const {
  int64_t sum = 0;
  for (const auto [block, bytes] : used()) sum += bytes;
  return sum;
}

std::vector<int64_t> BlockSizes::all() const {
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  for (const auto [block, bytes] : used()) sizes[static_cast<size_t>(block)] = bytes;
  return sizes;
}

StreamPlaces::StreamPlaces(const BlockSizes& sizes)
    : step_(1 + (sizes.count - 1) / stream_constants::max_begins) {
  begins_.reserve(static_cast<size_t>((sizes.count + step_ - 1) / step_));
  const auto begin_all_up_to = [&](int64_t block) {
    while (std::ssize(begins_) * step_ <= block && std::ssize(begins_) * step_ < sizes.count)
      begins_.push_back(total_);
  };
  for (const auto [block, bytes] : sizes.used()) {
    begin_all_up_to(block);
    total_ += bytes;
  }
  begin_all_up_to(sizes.count);
}

StreamPosition StreamPlaces::find(const BlockSizes& sizes, int64_t offset) const {
  const auto sample = std::ranges::upper_bound(begins_, offset) - begins_.begin() - 1;
  if (sample < 0) return {0, offset};
  int64_t begin = begins_[static_cast<size_t>(sample)];
  StreamPosition last{sample * step_, offset - begin};
  for (const auto [block, bytes] : sizes.used(sample * step_)) {
    if (begin > offset) break;
    last = {block, offset - begin};
    if (offset - begin < bytes) break;
    begin += bytes;
  }
  return last;
}

}  // namespace sheaf::multifile

#include "stream/held_bytes.hpp"

#include <algorithm>

namespace sheaf {

layout::TypeMap pieces_of(std::span<const Extent> extents) {
  std::vector<int64_t> lengths, offsets;
  lengths.reserve(extents.size());
  offsets.reserve(extents.size());
  for (const Extent& extent : extents) {
    lengths.push_back(extent.length);
    offsets.push_back(extent.offset);
  }
  return layout::TypeMap::indexed(lengths, offsets, layout::TypeMap::bytes(1));
}

void HeldBytes::append(std::span<const std::byte> data, int64_t offset) {
  if (data.empty()) return;
  const bool continues = continues_ && !extents_.empty() && extents_.back().end() == offset;
  if (!continues) extents_.push_back({offset, 0});
  try {
    data_.insert(data_.end(), data.begin(), data.end());
  } catch (...) {
    if (!continues) extents_.pop_back();
    throw;
  }
  extents_.back().length += std::ssize(data);
  continues_ = true;
}

void HeldBytes::append(HeldBytes& other) {
  extents_.reserve(extents_.size() + other.extents_.size());
  data_.insert(data_.end(), other.data_.begin(), other.data_.end());
  extents_.insert(extents_.end(), other.extents_.begin(), other.extents_.end());
  other.clear();
}

void HeldBytes::drop_last(size_t extents) {
  for (; extents > 0 && !extents_.empty(); --extents) {
    data_.resize(data_.size() - static_cast<size_t>(extents_.back().length));
    extents_.pop_back();
  }
}

exchange::Access HeldBytes::access(const layout::TypeMap& pieces) const {
  return {0, &pieces, 0, bytes(), const_cast<std::byte*>(data_.data()), &exchange::contiguous_bytes()};
}

void HeldBytes::clear() {
  data_.clear();
  extents_.clear();
  continues_ = true;
}

}  // namespace sheaf

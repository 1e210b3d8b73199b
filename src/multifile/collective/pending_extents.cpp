#include "multifile/collective/pending_extents.hpp"

#include <algorithm>

namespace sheaf::multifile {

void PendingExtents::append(std::span<const std::byte> data, int64_t offset) {
  if (data.empty()) return;
  const bool continues = continues_ && !extents_.empty() && extents_.back().end() == offset;
  if (!continues) extents_.push_back({offset, 0});
  try {
    // A task mostly appends until its share is full. Doubling the capacity would copy about as many bytes as
    // the task writes, so the capacity grows by a factor of 4.
    if (const size_t needed = data_.size() + data.size(); needed > data_.capacity())
      data_.reserve(std::max(needed, 4 * data_.capacity()));
    data_.insert(data_.end(), data.begin(), data.end());
  } catch (...) {
    if (!continues) extents_.pop_back();
    throw;
  }
  extents_.back().length += std::ssize(data);
  continues_ = true;
}

}  // namespace sheaf::multifile

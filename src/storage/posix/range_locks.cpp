#include "storage/posix/range_locks.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace sheaf {

bool RangeLocks::is_free(const LockedRange& wanted) const {
  return std::ranges::none_of(held_, [&](const LockedRange& held) {
    // Lengths may reach the maximum of 63 bits; differences of offsets do not overflow.
    const bool overlap = held.offset <= wanted.offset ? wanted.offset - held.offset < held.length
                                                      : held.offset - wanted.offset < wanted.length;
    return overlap && (held.exclusive || wanted.exclusive);
  });
}

bool RangeLocks::lock(int64_t offset, int64_t length, bool exclusive, std::chrono::milliseconds timeout) {
  SHEAF_ASSERT(offset >= 0 && length > 0);
  const LockedRange wanted{offset, length, exclusive};
  std::unique_lock lock(mutex_);
  const bool free = freed_.wait_for(lock, timeout, [&] { return is_free(wanted); });
  if (free) held_.push_back(wanted);
  return free;
}

void RangeLocks::unlock(int64_t offset, int64_t length) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        held_, [&](const LockedRange& held) { return held.offset == offset && held.length == length; });
    SHEAF_ASSERT(found != held_.end());
    held_.erase(found);
  }
  freed_.notify_all();
}

}  // namespace sheaf

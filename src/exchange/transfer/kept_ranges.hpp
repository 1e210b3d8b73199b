// exchange/transfer/kept_ranges: extents of a file that a task has written and no other task has overwritten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "base/assert.hpp"

namespace sheaf::exchange {

// A set of extents [begin, end). If the set is full, add() drops all extents except for the added one; the
// caller then reads their bytes from the server. The set never contains bytes that the task has not written.
// Any thread may call the functions.
class KeptRanges {
 public:
  static constexpr int64_t everywhere = std::numeric_limits<int64_t>::max();

  void add(int64_t begin, int64_t end) {
    SHEAF_DEBUG_ASSERT(begin <= end);
    const std::lock_guard lock(mutex_);
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second >= begin) {
      --at;
      begin = at->first;
    }
    while (at != ranges_.end() && at->first <= end) {
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    if (std::ssize(ranges_) >= most) ranges_.clear();
    ranges_[begin] = end;
  }

  void remove(int64_t begin, int64_t end) {
    SHEAF_DEBUG_ASSERT(begin <= end);
    const std::lock_guard lock(mutex_);
    auto at = ranges_.lower_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second > begin) {
      const int64_t beyond = std::exchange(std::prev(at)->second, begin);
      if (beyond > end) ranges_[end] = beyond;
    }
    while (at != ranges_.end() && at->first < end) {
      if (at->second > end) ranges_[end] = at->second;
      at = ranges_.erase(at);
    }
  }

  bool have(int64_t begin, int64_t end) const {
    const std::lock_guard lock(mutex_);
    const auto behind = ranges_.upper_bound(begin);
    return behind != ranges_.begin() && std::prev(behind)->second >= end;
  }

 private:
  static constexpr std::ptrdiff_t most = 4096;  // extents: some hundred KiB of memory

  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> ranges_;  // begin, end; extents do not touch
};

}  // namespace sheaf::exchange

// base/os/deadline: a point in time until which a task waits.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/assert.hpp"

namespace sheaf {

class Deadline {
 public:
  // Expires `timeout` >= 0 after this call. A timeout of more than a century, which nanoseconds may not be
  // able to express, counts as a century.
  template <class Rep, class Period>
  explicit Deadline(std::chrono::duration<Rep, Period> timeout)
      : end_(std::chrono::steady_clock::now() + bounded(timeout)) {}

  bool expired() const { return remaining().count() == 0; }
  // Returns the time left; 0 if the deadline has expired.
  std::chrono::nanoseconds remaining() const {
    return std::max(end_ - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
  }

 private:
  template <class Timeout>
  static std::chrono::nanoseconds bounded(Timeout timeout) {
    constexpr std::chrono::hours century(24 * 36'525);
    SHEAF_ASSERT(timeout.count() >= 0);
    return timeout > century ? century : std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
  }

  std::chrono::steady_clock::time_point end_;
};

}  // namespace sheaf

// base/os/deadline: a point in time until which a task waits.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/assert.hpp"

namespace sheaf {

class Deadline {
 public:
  // Expires `timeout` >= 0 after this call.
  explicit Deadline(std::chrono::nanoseconds timeout) : end_(std::chrono::steady_clock::now() + timeout) {
    SHEAF_ASSERT(timeout.count() >= 0);
  }

  bool expired() const { return remaining().count() == 0; }
  // Returns the time left; 0 if the deadline has expired.
  std::chrono::nanoseconds remaining() const {
    return std::max(end_ - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace sheaf

// cli/partest/clock: a clock shared by all tasks. With it, the time of a step can be measured from the first
// task that begins the step to the last task that ends it.
#pragma once

#include <cstdint>

#include "comm/comm.hpp"

namespace sheaf::partest {

class SharedClock {
 public:
  // Collective. Tasks on the host of task 0 use the system's clock. For each other host, measures the offset
  // of its clock as the median over a few barriers. The error of the offset is the time between the releases
  // of two tasks by a barrier.
  explicit SharedClock(Comm& comm);

  // Returns the shared time in nanoseconds.
  int64_t now() const;

 private:
  int64_t offset_ = 0;
};

}  // namespace sheaf::partest

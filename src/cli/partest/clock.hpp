// cli/partest/clock: a clock shared by all tasks. With it, the time of a step can be measured from the first
// task that begins the step to the last task that ends it.
#pragma once

#include <cstdint>

#include "comm/comm.hpp"

namespace sheaf::partest {

class SharedClock {
 public:
  // Collective. If all tasks run on one host, uses the system's clock. Otherwise each task measures the
  // offset of its clock to that of task 0, as the median over 21 barriers. The error of the offset is the
  // time between the releases of the two tasks by a barrier.
  explicit SharedClock(Comm& comm);

  // Returns the shared time in nanoseconds.
  int64_t now() const;

 private:
  int64_t offset_ = 0;
};

}  // namespace sheaf::partest

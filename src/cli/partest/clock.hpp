// cli/partest/clock: a clock shared by all tasks. The time of a step runs from the first task that begins it
// to the last task that ends it, independent of scheduling.
#pragma once

#include <cstdint>

#include "comm/comm.hpp"

namespace sheaf::partest {

class SharedClock {
 public:
  // Collective. Tasks of one host use the system's clock. The offset of another host to task 0 is the median
  // over a few barriers; its error is the skew with which a barrier releases the tasks.
  explicit SharedClock(Comm& comm);

  // Returns nanoseconds.
  int64_t now() const;

 private:
  int64_t offset_ = 0;
};

}  // namespace sheaf::partest

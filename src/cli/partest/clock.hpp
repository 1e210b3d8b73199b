// cli/partest/clock: a clock that all tasks share, so that the time a step takes runs from the first task
// that begins to the last that ends, whoever gets the processor when.
#pragma once

#include <cstdint>

#include "comm/comm.hpp"

namespace sheaf::partest {

class SharedClock {
 public:
  // Collective. Within a node the system's clock is shared; between nodes the offset to task 0 is the median
  // over a few barriers, as exact as a barrier releases its tasks together.
  explicit SharedClock(Comm& comm);

  // Nanoseconds.
  int64_t now() const;

 private:
  int64_t offset_ = 0;
};

}  // namespace sheaf::partest

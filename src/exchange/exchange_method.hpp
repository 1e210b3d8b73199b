// exchange/exchange_method: selects the method by which the aggregators of hosts exchange the data of a plan
// (Blue Gene/L paper, section 3.5.1).
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf::exchange {

// The messages of an exchange plan that one aggregator sends and receives in a write.
struct PlannedMessages {
  std::vector<int> peers;  // their other ends, ascending
  int64_t messages = 0;    // sent and received in all rounds
  int64_t bytes = 0;       // likewise
  int64_t largest = 0;     // maximum bytes sent, or received, in one round; afterwards of any aggregator
};

// Collective over `channel`. Returns the method for a plan, the same on all tasks: alltoallv if the plan is
// dense and its messages are short, so that what limits it is their number; messages otherwise. Costs one
// reduction.
ExchangeMethod exchange_method(Comm& channel, const PlannedMessages& mine);

}  // namespace sheaf::exchange

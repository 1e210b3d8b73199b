// layout/aggregators: the number of aggregators per host. Aggregators access the file for all tasks (Blue
// Gene/L paper, section 3.3). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::layout {

struct AggregatorHost {
  int64_t io_node = 0;  // equal for all hosts of an I/O node; otherwise arbitrary
  int64_t tasks = 1;
  int64_t most = 0;  // maximum number of aggregators
};

// Returns the number of aggregators of every host, at least one in total. `wanted`: their total, distributed
// evenly over the I/O nodes and then over the hosts of each, limited by AggregatorHost::most; 0: one per
// eight tasks of an I/O node.
std::vector<int64_t> spread_aggregators(std::span<const AggregatorHost> hosts, int64_t wanted);

// Distributes `count` items over places that take at most `most[i]` each. Uses evenly spaced places if there
// are more places than items; otherwise assigns items in turn.
std::vector<int64_t> deal_out(std::span<const int64_t> most, int64_t count);

}  // namespace sheaf::layout

// layout/aggregators: computes the number of aggregators per host. Aggregators access the file for all tasks
// (Blue Gene/L paper, section 3.3). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::layout {

struct AggregatorHost {
  int64_t io_node =
      -1;  // any number >= 0, equal for the hosts of one I/O node only; -1: unknown, for all hosts
  int64_t tasks = 1;
  int64_t most = 0;  // maximum number of aggregators
};

// Returns the number of aggregators of every host, at least one in total. Distributes `wanted` aggregators
// evenly over the I/O nodes, then evenly over the hosts of each I/O node. No host gets more than
// AggregatorHost::most. If `wanted` is 0, every I/O node gets up to eight aggregators: a host per I/O node
// reaches the peak rate when 8 to 16 nodes access the file (same section). Hosts without a known I/O node get
// one aggregator per eight tasks.
std::vector<int64_t> spread_aggregators(std::span<const AggregatorHost> hosts, int64_t wanted);

// Places as many aggregators as `spread` has together on the first hosts, as without knowledge of I/O nodes:
// one on each, then a second on each, and so on. No host gets more than AggregatorHost::most.
std::vector<int64_t> on_first_hosts(std::span<const AggregatorHost> hosts, std::span<const int64_t> spread);

// Distributes `count` items over places. Returns the number of items that each place gets, at most `most[i]`
// for place i. If there are more places than items, evenly spaced places get one item each. Otherwise the
// places get items in turn.
std::vector<int64_t> deal_out(std::span<const int64_t> most, int64_t count);

}  // namespace sheaf::layout

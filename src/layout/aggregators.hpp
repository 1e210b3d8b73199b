// layout/aggregators: how many aggregators hosts have, who touch the file for all (Blue Gene/L paper, section 3.3). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::layout {

struct AggregatorHost {
  int64_t io_node = 0;  // hosts of an I/O node have the same number, any one
  int64_t tasks = 1;
  int64_t most = 0;  // aggregators that it may have
};

// Aggregators of every host, one in all at least. `wanted`: their number, spread evenly over the I/O nodes and in these over the
// hosts, as far as hosts may have so many; 0: one for every eight tasks of an I/O node.
std::vector<int64_t> spread_aggregators(std::span<const AggregatorHost> hosts, int64_t wanted);

// Deals `count` out over places that take so many at most: evenly spaced if there are more places than `count`, else one to each in turn.
std::vector<int64_t> deal_out(std::span<const int64_t> most, int64_t count);

}  // namespace sheaf::layout

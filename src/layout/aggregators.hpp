// layout/aggregators: which tasks touch the file for all (Blue Gene/L paper, section 3.3). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::layout {

// How aggregators are chosen among tasks.
struct AggregatorRules {
  int64_t wanted = 0;    // number; 0: one for every eight tasks of a node
  int64_t per_node = 0;  // most on a node; 0: any number
  std::span<const int64_t> on_nodes = {};  // most on the node of each task, 0: none there; wins over per_node; empty: not given
  bool by_node = true;   // spread evenly over the nodes, those of one node next to each other; else the first tasks
};

// `nodes`: the node of every task, any numbers. Returns ranks: at least one, nobody twice; nodes in the order of their first
// tasks.
std::vector<int> choose_aggregators(std::span<const int64_t> nodes, const AggregatorRules& rules);

// `count` of the aggregators, evenly over the list: those who take part in a small operation. 0 < count <= size.
std::vector<int> subset_of(std::span<const int> aggregators, int64_t count);

}  // namespace sheaf::layout

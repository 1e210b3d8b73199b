#include "layout/aggregators.hpp"

#include <algorithm>
#include <numeric>

namespace sheaf::layout {

namespace {

constexpr int64_t tasks_per_aggregator = 8;

}  // namespace

std::vector<int> choose_aggregators(std::span<const int64_t> nodes, const AggregatorRules& rules) {
  const int64_t tasks = std::ssize(nodes);
  std::vector<int> chosen;
  if (!rules.by_node) {
    chosen.resize(static_cast<size_t>(std::clamp<int64_t>(rules.wanted > 0 ? rules.wanted : tasks / tasks_per_aggregator, 1, tasks)));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  // The tasks of each node.
  std::vector<int64_t> names;
  std::vector<std::vector<int>> members;
  for (int64_t task = 0; task < tasks; ++task) {
    const int64_t name = nodes[static_cast<size_t>(task)];
    const auto found = std::ranges::find(names.rbegin(), names.rend(), name);
    size_t place = names.size();
    if (found == names.rend()) {
      names.push_back(name);
      members.emplace_back();
    } else {
      place = static_cast<size_t>(names.rend() - found) - 1;
    }
    members[place].push_back(static_cast<int>(task));
  }
  // One more for every node in turn, as long as more are wanted and the node may have more.
  const auto most = [&](size_t node) {
    const int64_t here = std::ssize(members[node]);
    const int64_t usual = rules.wanted > 0 ? here : (here + tasks_per_aggregator - 1) / tasks_per_aggregator;
    if (!rules.on_nodes.empty()) return std::min(usual, rules.on_nodes[static_cast<size_t>(members[node].front())]);
    return rules.per_node > 0 ? std::min(usual, rules.per_node) : usual;
  };
  std::vector<int64_t> counts(members.size(), 0);
  int64_t left = rules.wanted > 0 ? rules.wanted : tasks;
  for (bool more = true; more && left > 0;) {
    more = false;
    for (size_t node = 0; node < members.size() && left > 0; ++node) {
      if (counts[node] >= most(node)) continue;
      ++counts[node];
      --left;
      more = true;
    }
  }
  for (size_t node = 0; node < members.size(); ++node)
    for (int64_t i = 0; i < counts[node]; ++i)
      chosen.push_back(members[node][static_cast<size_t>(i * std::ssize(members[node]) / counts[node])]);
  if (chosen.empty()) chosen.push_back(0);  // no node may have any
  return chosen;
}

std::vector<int> subset_of(std::span<const int> aggregators, int64_t count) {
  std::vector<int> chosen;
  for (int64_t i = 0; i < count; ++i) chosen.push_back(aggregators[static_cast<size_t>(i * std::ssize(aggregators) / count)]);
  return chosen;
}

}  // namespace sheaf::layout

#include "layout/aggregators.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/assert.hpp"

namespace sheaf::layout {

namespace {

constexpr int64_t tasks_per_aggregator = 8;
constexpr int64_t aggregators_per_io_node = 8;

}  // namespace

std::vector<int64_t> deal_out(std::span<const int64_t> most, int64_t count) {
  std::vector<int64_t> dealt(most.size(), 0);
  std::vector<size_t> open;
  for (size_t i = 0; i < most.size(); ++i)
    if (most[i] > 0) open.push_back(i);
  while (count > 0 && !open.empty()) {
    const int64_t places = std::ssize(open), now = std::min(count, places);
    for (int64_t i = 0; i < now; ++i) ++dealt[open[static_cast<size_t>(i * places / now)]];
    count -= now;
    std::erase_if(open, [&](size_t i) { return dealt[i] >= most[i]; });
  }
  return dealt;
}

std::vector<int64_t> spread_aggregators(std::span<const AggregatorHost> hosts, int64_t wanted) {
  SHEAF_ASSERT(!hosts.empty() && wanted >= 0);
  const bool are_known = hosts.front().io_node >= 0;
  std::map<int64_t, std::vector<size_t>> io_nodes;
  for (size_t i = 0; i < hosts.size(); ++i) {
    SHEAF_ASSERT(are_known == (hosts[i].io_node >= 0));
    io_nodes[are_known ? hosts[i].io_node : static_cast<int64_t>(i)].push_back(i);
  }
  std::vector<int64_t> most;
  for (const auto& [name, members] : io_nodes) {
    int64_t allowed = 0, tasks = 0;
    for (const size_t i : members) {
      allowed += hosts[i].most;
      tasks += hosts[i].tasks;
    }
    const int64_t usual =
        are_known ? aggregators_per_io_node : (tasks + tasks_per_aggregator - 1) / tasks_per_aggregator;
    most.push_back(wanted > 0 ? allowed : std::min(allowed, usual));
  }
  const auto of_io_nodes =
      deal_out(most, wanted > 0 ? wanted : std::accumulate(most.begin(), most.end(), int64_t{0}));
  std::vector<int64_t> result(hosts.size(), 0);
  size_t next = 0;
  for (const auto& [name, members] : io_nodes) {
    std::vector<int64_t> here;
    for (const size_t i : members) here.push_back(hosts[i].most);
    const auto dealt = deal_out(here, of_io_nodes[next++]);
    for (size_t i = 0; i < members.size(); ++i) result[members[i]] = dealt[i];
  }
  // If no host may have an aggregator, the first host still gets one.
  if (std::ranges::max(result) == 0) result[0] = 1;
  return result;
}

std::vector<int64_t> on_first_hosts(std::span<const AggregatorHost> hosts, std::span<const int64_t> spread) {
  SHEAF_ASSERT(hosts.size() == spread.size());
  int64_t left = std::accumulate(spread.begin(), spread.end(), int64_t{0});
  std::vector<int64_t> result(hosts.size(), 0);
  for (bool placed = true; placed && left > 0;) {
    placed = false;
    for (size_t i = 0; i < hosts.size() && left > 0; ++i) {
      if (result[i] >= hosts[i].most) continue;
      ++result[i];
      --left;
      placed = true;
    }
  }
  if (std::ranges::max(result) == 0) result[0] = 1;
  return result;
}

}  // namespace sheaf::layout

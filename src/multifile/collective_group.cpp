#include "multifile/collective_group.hpp"

#include <algorithm>

#include "layout/collective.hpp"
#include "multifile/leaders.hpp"

namespace sheaf {

namespace {

struct Request {
  int64_t bytes;
  int64_t may_collect;
};

// The state of the pass goes from leader to leader. Returns the first task of the group of each task of the slice.
std::vector<int64_t> pass_over(Comm& leaders, std::span<const Request> slice, int64_t first_task, int64_t average) {
  layout::GroupPass state;
  const auto memory = std::as_writable_bytes(std::span(&state, 1));
  std::vector<int64_t> firsts;
  for (int hop = 0; hop < leaders.size(); ++hop) {
    if (hop == leaders.rank())
      for (size_t t = 0; t < slice.size(); ++t)
        firsts.push_back(state.add(first_task + static_cast<int64_t>(t), slice[t].bytes, average, slice[t].may_collect != 0));
    if (hop + 1 == leaders.size()) break;
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    if (hop == leaders.rank()) outgoing.push_back({hop + 1, memory});
    if (hop + 1 == leaders.rank()) incoming.push_back({hop, memory});
    leaders.exchange(std::move(outgoing), std::move(incoming))->finish();
  }
  return firsts;
}

int64_t first_of_group(Comm& file, const Request& mine, int64_t average) {
  Leaders leaders(file);
  const std::vector<Request> slice = leaders.gather(std::span(&mine, 1));
  const bool several = static_cast<int64_t>(leaders.count()) < file.size();
  std::unique_ptr<Comm> chain;
  if (several) chain = file.split(leaders.is_leader() ? 0 : -1, file.rank());
  std::vector<int64_t> firsts;
  if (leaders.is_leader()) firsts = pass_over(chain ? *chain : *self_comm(), slice, leaders.first(), average);
  int64_t first = 0;
  leaders.scatter(std::span<const int64_t>(firsts), first);
  return first;
}

void divide(Comm& file, int64_t first, CollectiveGroup& groups) {
  groups.members = file.split(static_cast<int>(first), file.rank());
  groups.collectors = file.split(groups.members->rank() == 0 ? 0 : -1, file.rank());
}

}  // namespace

CollectiveGroup make_groups(Comm& file, int64_t request, int64_t fsblksize, const CollectivePlan& plan, bool may_collect) {
  const PrefixedSum requests = prefixed_sum(file, request);
  const int64_t total = requests.total;
  const int64_t average = layout::bytes_per_collector(total, file.size(), fsblksize, plan.tasks_per_collector);
  CollectiveGroup groups;
  groups.average_request = (total + file.size() - 1) / file.size();
  int64_t sum = total;
  if (plan.equal ? plan.tasks_per_collector < file.size() : average < total) {
    divide(file, plan.equal ? file.rank() - file.rank() % plan.tasks_per_collector
                            : first_of_group(file, {request, may_collect}, average), groups);
    sum = request;
    groups.members->all_sum(std::span(&sum, 1));
  }
  const Comm& group = groups.group(file);
  const auto overflow = attempt([&] {
    groups.chunk_size = plan.merge ? layout::merged_chunk(request, sum, group.rank() == 0, fsblksize)
                                   : layout::packed_chunk(request, sum, group.rank() == group.size() - 1, fsblksize);
  });
  if (overflow) groups.chunk_size = INT64_MAX;
  // In one group only the last chunk differs from its request.
  if (!groups.members && !plan.merge)
    if (const auto end = align_up(total, fsblksize)) groups.placed = PrefixedSum{requests.before, *end};
  return groups;
}

CollectiveGroup make_equal_groups(Comm& file, int64_t tasks) {
  CollectiveGroup groups;
  if (tasks < file.size()) divide(file, file.rank() - file.rank() % tasks, groups);
  return groups;
}

CollectiveGroup make_reading_groups(Comm& file, const CollectivePlan& plan) {
  int64_t tasks = plan.tasks_per_collector;
  if (plan.is_automatic()) {
    constexpr int64_t unlimited = INT64_MAX / 2;
    const int64_t collectors = (unlimited / layout::bytes_per_collector(unlimited, file.size(), 1, 0));
    tasks = (file.size() + collectors - 1) / std::max<int64_t>(1, collectors);
  }
  return make_equal_groups(file, std::max<int64_t>(1, tasks));
}

}  // namespace sheaf

#include "multifile/collective/collective_group.hpp"

#include <algorithm>
#include <cstring>

#include "comm/helpers.hpp"
#include "comm/reduce.hpp"
#include "multifile/collective/constants.hpp"
#include "multifile/metadata/metadata_partition.hpp"

namespace sheaf::multifile {

CollectiveGroup::CollectiveGroup(Comm& file, const layout::GroupPlace& place, const Spread& spread)
    : file_(&file), place_(place) {
  if (spread.nodes.count <= 1) return;
  // The first task gathers the hosts of all members, chooses the collector and scatters the choice.
  const std::vector<int64_t> nodes = gather(spread.nodes.mine);
  std::vector<int64_t> chosen;
  if (is_collector())
    chosen.assign(nodes.size(),
                  layout::choose_collector(nodes, spread.nodes.count, place_, spread.file, spread.nfiles));
  collector_ = static_cast<int>(deal(chosen));
}

Gathered CollectiveGroup::gather(std::span<const std::byte> mine, size_t most) const {
  Gathered all;
  all.bytes.resize(is_collector() ? static_cast<size_t>(size()) * most : 0);
  std::vector<Incoming> incoming;
  for (int member = 0; is_collector() && member < size(); ++member)
    incoming.push_back(
        {task(member), std::span(all.bytes).subspan(static_cast<size_t>(member) * most, most)});
  all.sizes = file_->exchange({{task(collector_), mine}}, std::move(incoming))->finish();
  auto end = all.bytes.begin();
  for (size_t member = 0; member < all.sizes.size(); ++member)
    end = std::ranges::copy(
              std::span(all.bytes).subspan(member * most, static_cast<size_t>(all.sizes[member])), end)
              .out;
  all.bytes.erase(end, all.bytes.end());
  return all;
}

std::vector<int64_t> CollectiveGroup::gather(int64_t mine) const {
  return records_of<int64_t>(gather(std::as_bytes(std::span(&mine, 1)), sizeof mine));
}

int64_t CollectiveGroup::deal(std::span<const int64_t> numbers) const {
  int64_t mine = 0;
  std::vector<Outgoing> outgoing;
  for (int member = 0; is_collector() && member < size(); ++member)
    outgoing.push_back({task(member), std::as_bytes(numbers.subspan(static_cast<size_t>(member), 1))});
  file_->exchange(std::move(outgoing), {{task(collector_), std::as_writable_bytes(std::span(&mine, 1))}})
      ->finish();
  return mine;
}

namespace {

using layout::GroupPass;

struct GroupPlaceRequest {
  int64_t bytes;
  GroupPass::Begins begins;
};

// State that each metadata writer sends to the following one in the first pass, and to the preceding one in
// the second pass.
struct Passes {
  GroupPass forward;
  layout::GroupPassBack back;
};

// Returns the slice whose metadata writer takes turn `turn` of two passes over `count` slices, the second one
// in reverse; -1 after the last turn.
int slice_of_turn(int turn, int count) { return turn < count ? turn : 2 * count - 1 - turn; }

// Lets the metadata writers call pass(backwards) in turns, first in task order and then in reverse. Each
// sends `state` to the next. Collective over `file`.
template <class Pass>
void pass_in_turns(Comm& file, const MetadataPartition& slices, std::span<std::byte> state, Pass pass) {
  const int count = slices.slices();
  // If possible, the metadata writers use a communicator of their own, so that other tasks need not take
  // part.
  const bool alone = file.grain() == 1 && count > 1;
  const auto chain = alone ? file.split(slices.is_metadata_writer() ? 0 : -1, file.rank()) : nullptr;
  if (alone && !chain) return;
  Comm& comm = chain ? *chain : file;
  const int64_t stride = chain ? 1 : slices.rows_per_slice();
  const int own =
      slices.is_metadata_writer() ? static_cast<int>(slices.first() / slices.rows_per_slice()) : -1;
  for (int turn = 0; turn < 2 * count; ++turn) {
    const int from = slice_of_turn(turn, count);
    const int to = slice_of_turn(turn + 1, count);
    if (own == from) pass(turn >= count);
    if (to < 0 || to == from) continue;
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    if (own == from) outgoing.push_back({static_cast<int>(to * stride), state});
    if (own == to) incoming.push_back({static_cast<int>(from * stride), state});
    comm.exchange(std::move(outgoing), std::move(incoming))->finish();
  }
}

}  // namespace

layout::GroupPlace place_in_groups(Comm& file, int64_t bytes, int64_t average, GroupPass::Begins begins) {
  const GroupPlaceRequest mine{bytes, begins};
  MetadataPartition slices(file, Slicing::groups);
  const Gathered collected = slices.collect_piece(0, std::as_bytes(std::span(&mine, 1)));
  const std::vector<GroupPlaceRequest> slice = records_of<GroupPlaceRequest>(collected);
  std::vector<layout::GroupPlace> places(slice.size());
  Passes passes;
  pass_in_turns(file, slices, std::as_writable_bytes(std::span(&passes, 1)), [&](bool backwards) {
    if (backwards) {
      for (size_t t = places.size(); t-- > 0;)
        passes.back.complete(slices.first() + static_cast<int64_t>(t), places[t]);
      return;
    }
    GroupPass& forward = passes.forward;
    for (size_t t = 0; t < places.size(); ++t) {
      const int64_t first =
          forward.add(slices.first() + static_cast<int64_t>(t), slice[t].bytes, average, slice[t].begins);
      places[t] = {first, 0, forward.filled, forward.number, 0, forward.before};
    }
  });
  std::optional<Error> none;
  return slices.answer<layout::GroupPlace, GroupPlaceRequest>(collected, 1, none,
                                                              [&](const auto&) { return places; })[0];
}

bool is_first_of_host(Comm& file, int64_t host) {
  return shift(file, host, Neighbour::preceding, -1) != host;
}

namespace {

// Returns true if the library chooses the collector of a group; else the layout prescribes it.
bool chooses_collectors(const CollectivePlan& plan) { return !plan.merge && !plan.equal; }

// Returns true if tasks and bytes are so few that one task should collect for all groups of the layout.
bool one_collects(const Comm& file, const CollectivePlan& plan, int64_t total) {
  return chooses_collectors(plan) && plan.is_automatic() && file.size() <= collective_constants::few_tasks &&
         total <= file.size() * collective_constants::little_per_task;
}

// Returns true if no group spans two hosts. Collective over `file`.
bool are_groups_by_host(Comm& file, const GroupRequest& request, const CollectivePlan& plan) {
  if (request.host < 0 || !chooses_collectors(plan)) return false;
  return !any_task(file, !plan.may_collect);
}

// Returns the place of the group of this task in a file with several groups. Collective over `file`.
layout::GroupPlace place_in_several(Comm& file, const GroupRequest& request, const CollectivePlan& plan,
                                    int64_t average, bool by_host) {
  using Begins = GroupPass::Begins;
  if (plan.equal) {
    const bool first = file.rank() % plan.tasks_per_collector == 0;
    return place_in_groups(file, request.bytes, -1, first ? Begins::every_task : Begins::first_task);
  }
  Begins begins = plan.may_collect ? Begins::overflow : Begins::first_task;
  if (by_host && is_first_of_host(file, request.host)) begins = Begins::every_task;
  return place_in_groups(file, request.bytes, average, begins);
}

// Returns NewGroups::chunk_size of member `member` of the group at `place`.
int64_t chunk_of_member(int64_t member, int64_t request, const layout::GroupPlace& place, bool merge,
                        int64_t fsblksize) {
  int64_t size = INT64_MAX;
  attempt([&] {
    size = merge ? layout::merged_chunk(request, place.sum, member == 0, fsblksize)
                 : layout::packed_chunk(request, place.sum, member == place.size - 1, fsblksize);
  });
  return size;
}

}  // namespace

NewGroups make_groups(Comm& file, const GroupRequest& request, const CollectivePlan& plan,
                      const Spread& spread) {
  const PrefixedSum requests = prefixed_sum(file, request.bytes);
  const int64_t total = requests.total;
  const int64_t average =
      layout::bytes_per_collector(total, file.size(), request.fsblksize, plan.tasks_per_collector);
  const bool by_host = are_groups_by_host(file, request, plan);
  const bool several = by_host || (plan.equal ? plan.tasks_per_collector < file.size() : average < total);
  const bool unshared = request.unshared && !several && request.host < 0;
  const layout::GroupPlace whole{0, file.size(), total, 0, 1};
  const layout::GroupPlace place = several ? place_in_several(file, request, plan, average, by_host) : whole;
  NewGroups made;
  made.average_request = (total + file.size() - 1) / file.size();
  made.spans_hosts = request.host >= 0 && !by_host && !plan.merge;
  made.fsblksize = unshared ? layout::unshared_alignment(total, request.fsblksize) : request.fsblksize;
  made.group = CollectiveGroup(file, !by_host && one_collects(file, plan, total) ? whole : place,
                               chooses_collectors(plan) ? spread : Spread{});
  made.chunk_size =
      chunk_of_member(file.rank() - place.first, request.bytes, place, plan.merge, made.fsblksize);
  // In a single group only the last chunk differs from its request, so the sums follow from the requests.
  if (place.count == 1 && !plan.merge)
    if (const auto end = align_up(total, made.fsblksize)) made.placed = PrefixedSum{requests.before, *end};
  return made;
}

std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, const Comm& local,
                                      const CollectiveMeans& means) {
  return means.meeting || local.grain() <= local.size() ? plan_of(mode, writes, local.size()) : std::nullopt;
}

CollectiveGroup make_reading_groups(Comm& file, const CollectivePlan& plan, const Spread& spread) {
  int64_t tasks = plan.tasks_per_collector;
  if (plan.is_automatic()) {
    constexpr int64_t unlimited = INT64_MAX / 2;
    const int64_t collectors = unlimited / layout::bytes_per_collector(unlimited, file.size(), 1, 0);
    tasks = (file.size() + collectors - 1) / std::max<int64_t>(1, collectors);
  }
  tasks = std::clamp<int64_t>(tasks, 1, file.size());
  const int64_t number = file.rank() / tasks;
  return CollectiveGroup(file,
                         {.first = number * tasks,
                          .size = std::min(tasks, file.size() - number * tasks),
                          .number = number,
                          .count = (file.size() + tasks - 1) / tasks},
                         spread);
}

}  // namespace sheaf::multifile

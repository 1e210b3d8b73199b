// comm/threads/team_splits: splits groups of threads.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "comm/packing.hpp"
#include "comm/reduce.hpp"
#include "comm/threads/star_comm.hpp"
#include "comm/threads/team_comm.hpp"

namespace sheaf {
namespace {

// Creates one team per color and stores each thread's membership.
template <class Place>
void divide(Offers all, Place place) {
  std::map<int, std::vector<Offer*>> groups;
  for (Offer& one : all)
    if (one.color >= 0) groups[one.color].push_back(&one);
  for (auto& [color, members] : groups) {
    std::ranges::stable_sort(members, {}, &Offer::key);
    const auto team = std::make_shared<ThreadTeam>(static_cast<int>(members.size()));
    int rank = 0;
    for (Offer* const one : members) place(*one) = {team, rank++};
  }
}

// The keys of the threads of a process.
struct KeyRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t process = 0;
};

// Performs the rounds of groups that span parts of processes, in collective calls of the group of all tasks.
class TeamRelay final : public RootRelay {
 public:
  // Collective over `group`.
  explicit TeamRelay(std::unique_ptr<Comm> group) : group_(std::move(group)) {
    const auto node = group_->split_by_node();
    node_ = group_->rank();
    node->broadcast(std::as_writable_bytes(std::span(&node_, 1)), 0);
  }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  int64_t node() override { return node_; }

  std::vector<std::byte> round(std::span<const std::byte> mine, const AnswerFunction& answer) override {
    return answered_by_task_0(*group_, mine, answer);
  }

 private:
  const std::unique_ptr<Comm> group_;
  int64_t node_ = 0;
};

}  // namespace

// Runs on thread 0. Returns true if any color occurs in more than one process, on any process.
bool TeamComm::cut_through(Offers all) {
  std::set<int32_t> colors;
  for (const Offer& one : all)
    if (one.color >= 0) colors.insert(one.color);
  const std::vector<int32_t> own(colors.begin(), colors.end());
  auto everywhere = records_of<int32_t>(processes_->gather(std::as_bytes(std::span(own)), 0));
  std::ranges::sort(everywhere);
  return any_task(*processes_, std::ranges::adjacent_find(everywhere) != everywhere.end());
}

// Runs on thread 0. Sets `processes` to the group of processes if the new group consists of whole processes.
TeamComm::SplitShape TeamComm::shape_of(Offers all, std::unique_ptr<Comm>& processes) {
  const auto has_other_color = [&](const Offer& one) { return one.color != all[0].color; };
  if (any_task(*processes_,
               !std::ranges::is_sorted(all, {}, &Offer::key) || std::ranges::any_of(all, has_other_color)))
    return cut_through(all) ? SplitShape::irregular : SplitShape::single_process;
  processes = processes_->split(all[0].color, all[0].key);
  // The threads of whole processes are in rank order if the processes' ranges of keys do not overlap. Equal
  // keys are ordered by process.
  std::vector<KeyRange> ranges;
  if (processes)
    ranges = records_of<KeyRange>(
        processes->gather(value_bytes(KeyRange{all.front().key, all.back().key, process_}), 0));
  const auto overlap = [](const KeyRange& one, const KeyRange& next) {
    return std::pair(one.last, one.process) > std::pair(next.first, next.process);
  };
  return any_task(*processes_, std::ranges::adjacent_find(ranges, overlap) != ranges.end())
             ? SplitShape::irregular
             : SplitShape::whole_processes;
}

std::unique_ptr<Comm> TeamComm::split(int color, int key) {
  if (star_) return star_->split(color, key);
  SplitResult part;
  std::unique_ptr<Comm> processes;
  run_together({.call = "split", .result = &part, .color = color, .key = key}, [&](Offers all) {
    const SplitShape shape = processes_ ? shape_of(all, processes) : SplitShape::single_process;
    for (const Offer& one : all) static_cast<SplitResult*>(one.result)->shape = shape;
    if (shape != SplitShape::irregular)
      divide(all, [](Offer& one) -> Membership& { return static_cast<SplitResult*>(one.result)->own; });
  });
  if (part.shape == SplitShape::irregular) {
    star_ = star_comm(std::make_shared<TeamRelay>(split(0, rank())));
    return star_->split(color, key);
  }
  if (!part.own.team) return nullptr;
  if (part.shape == SplitShape::whole_processes)
    return of_processes(std::move(part.own), std::move(processes));
  return std::make_unique<TeamComm>(std::move(part.own), number_);
}

std::unique_ptr<Comm> TeamComm::split_by_node() {
  if (star_) return star_->split_by_node();
  SplitResult part;
  std::unique_ptr<Comm> processes;
  run_together({.call = "split_by_node", .result = &part, .key = number_}, [&](Offers all) {
    if (processes_) processes = processes_->split_by_node();
    const int per_node = processes_ ? 0 : topology_by_hand();
    for (Offer& one : all) {
      one.color = per_node > 0 ? one.key / per_node : 0;
      one.key = 0;
    }
    divide(all, [](Offer& one) -> Membership& { return static_cast<SplitResult*>(one.result)->own; });
  });
  if (is_hybrid_) return of_processes(std::move(part.own), std::move(processes));
  return std::make_unique<TeamComm>(std::move(part.own), number_);
}

}  // namespace sheaf

// comm/threads/team_splits: splits groups of threads.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

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

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

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
  auto everywhere = values_of<int32_t>(processes_->gather(std::as_bytes(std::span(own)), 0).bytes);
  std::ranges::sort(everywhere);
  int64_t shared = std::ranges::adjacent_find(everywhere) != everywhere.end();
  processes_->all_max(std::span(&shared, 1));
  return shared != 0;
}

// Runs on thread 0. Sets `processes` to the group of processes if the new group consists of whole processes.
TeamComm::SplitShape TeamComm::shape_of(Offers all, std::unique_ptr<Comm>& processes) {
  const auto has_other_color = [&](const Offer& one) { return one.color != all[0].color; };
  int64_t divided =
      !std::ranges::is_sorted(all, {}, &Offer::key) || std::ranges::any_of(all, has_other_color);
  processes_->all_max(std::span(&divided, 1));
  if (divided) return cut_through(all) ? SplitShape::irregular : SplitShape::single_process;
  processes = processes_->split(all[0].color, all[0].key);
  // The threads of whole processes are in rank order if the processes' ranges of keys do not overlap. Equal
  // keys are ordered by process.
  int64_t overlap = 0;
  if (processes) {
    const int64_t row[3] = {all.front().key, all.back().key, process_};
    const auto rows = values_of<int64_t>(processes->gather(std::as_bytes(std::span(row)), 0).bytes);
    for (size_t r = 3; r < rows.size(); r += 3)
      if (rows[r - 2] > rows[r] || (rows[r - 2] == rows[r] && rows[r - 1] > rows[r + 2])) overlap = 1;
  }
  processes_->all_max(std::span(&overlap, 1));
  return overlap ? SplitShape::irregular : SplitShape::whole_processes;
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

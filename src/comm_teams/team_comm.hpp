// comm_teams/team_comm: the one Comm of teams of threads, behind thread_comm and hybrid_comm: of one process,
// or of the teams of several, whose threads 0 talk to each other. Private to this folder.
//
// Every call is one meeting of the team. With several processes thread 0 carries it out: it joins what the
// threads bring, makes the call between processes, and gives the threads what comes of it.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "comm_teams/thread_team.hpp"

namespace sheaf {

class TeamComm final : public Comm {
 public:
  // A thread's place in a team; null team: in none.
  struct Membership {
    std::shared_ptr<ThreadTeam> team;
    int rank = 0;
  };

  // Local. number: what a topology written by hand goes by (SHEAF_TOPOLOGY); alike on all: one node.
  TeamComm(Membership own, int number) : team_(std::move(own.team)), thread_(own.rank), number_(number) {}

  // Collective over the threads of all processes. processes: null but on thread 0.
  static std::unique_ptr<Comm> of_processes(Membership own, std::unique_ptr<Comm> processes);

  int rank() const override { return process_ * threads() + thread_; }
  int size() const override { return nprocesses_ * threads(); }
  int grain() const override { return star_ ? star_->grain() : is_hybrid_ ? threads() : 1; }

  void barrier() override;
  void broadcast(std::span<std::byte> data, int root) override;
  void reduce(Reduction how, std::span<int64_t> values) override;
  Gathered gather(std::span<const std::byte> mine, int root) override;
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override;
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override;
  std::unique_ptr<Comm> split(int color, int key) override;
  std::unique_ptr<Comm> split_by_node() override;
  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override;
  // On thread 0 alone, for all threads of its process.
  Presence meet_within(bool ready, std::chrono::milliseconds patience) override {
    return processes_ ? processes_->meet_within(ready, patience) : Presence::untold;
  }
  std::shared_ptr<ThreadTeam> thread_team() const override { return team_; }

 private:
  class TeamExchange;

  // What the groups of a split are: of whole processes in rank order, within one process each, or neither.
  enum class Shape { whole_processes, within_processes, irregular };
  // What a thread learns of a split.
  struct Part {
    Membership own;
    Shape shape = Shape::within_processes;
  };

  int threads() const { return team_->size(); }
  bool is_here(int task) const { return task / threads() == process_; }
  int process_of(int task) const { return task / threads(); }
  size_t thread_of(int task) const { return static_cast<size_t>(task % threads()); }

  template <class Act>
  void meet(const Offer& mine, Act&& act) {
    team_->meet(thread_, is_hybrid_ ? ThreadTeam::Actor::first : ThreadTeam::Actor::last, mine, act);
  }
  void exchange_between(std::span<ExchangeLists* const> threads);
  Shape shape_of(Offers all, std::unique_ptr<Comm>& processes);
  bool cut_through(Offers all);

  const std::shared_ptr<ThreadTeam> team_;
  const int thread_;
  const int number_;
  bool is_hybrid_ = false;
  std::unique_ptr<Comm> processes_;  // of hybrid groups, on thread 0
  int process_ = 0;
  int nprocesses_ = 1;
  // What carries all calls once a part of the group cuts through processes, since tasks may wait there and
  // here at the same time.
  std::unique_ptr<Comm> star_;
};

}  // namespace sheaf

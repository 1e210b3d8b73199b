// comm/threads/team_comm: the Comm of thread_comm and hybrid_comm. It covers the threads of one process, or
// of several processes, where threads 0 communicate. Private to this folder.
//
// Every call is one barrier of the team. With several processes, thread 0 performs the call: it joins the
// contributions of the threads, makes the call between processes, and distributes the result to the threads.
#pragma once

#include <memory>
#include <vector>

#include "comm/collective_call.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "comm/threads/thread_team.hpp"

namespace sheaf {

class TeamComm final : public Comm {
 public:
  // A thread's place in a team; `team` is null if the thread is in no team.
  struct Membership {
    std::shared_ptr<ThreadTeam> team;
    int rank = 0;
  };

  // Creates a handle of a team within one process. Local. `number` is the index that SHEAF_TOPOLOGY=node=K
  // divides by K; tasks with equal numbers are on one host.
  TeamComm(Membership own, int number) : team_(std::move(own.team)), thread_(own.rank), number_(number) {}

  // Creates a handle of the teams of several processes. Collective over the threads of all processes.
  // `processes` must be null except on thread 0.
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
  // Called on thread 0 alone, for all threads of its process.
  Presence wait_for_all(bool ready, std::chrono::milliseconds timeout) override {
    return processes_ ? processes_->wait_for_all(ready, timeout) : Presence::unknown;
  }
  std::shared_ptr<ThreadTeam> thread_team() const override { return team_; }
  JobEnd job_end() const override { return process_job_end(rank(), size()); }

 private:
  class TeamExchange;

  // Kind of groups that a split creates: whole processes in rank order, each within one process, or neither.
  enum class SplitShape { whole_processes, single_process, irregular };
  // Result of a split for one thread.
  struct SplitResult {
    Membership own;
    SplitShape shape = SplitShape::single_process;
  };

  int threads() const { return team_->size(); }
  bool is_here(int task) const { return task / threads() == process_; }
  int process_of(int task) const { return task / threads(); }
  size_t thread_of(int task) const { return static_cast<size_t>(task % threads()); }

  // If act() runs out of memory, all threads of this process throw. Other processes would wait for them, so
  // the job ends then.
  template <class Act>
  void run_together(const Offer& mine, Act&& act) {
    team_->run_together(thread_, is_hybrid_ ? ThreadTeam::Actor::first : ThreadTeam::Actor::last, mine,
                        [&](Offers all) {
                          const JobEnd end = processes_ ? processes_->job_end() : JobEnd();
                          collective_call(end, mine.call, [&] { act(all); });
                        });
  }
  void exchange_between(std::span<ExchangeLists* const> threads);
  SplitShape shape_of(Offers all, std::unique_ptr<Comm>& processes);
  bool cut_through(Offers all);

  const std::shared_ptr<ThreadTeam> team_;
  const int thread_;
  const int number_;
  bool is_hybrid_ = false;
  std::unique_ptr<Comm> processes_;  // for hybrid groups, on thread 0
  int process_ = 0;
  int nprocesses_ = 1;
  // Performs all calls once the group has been split irregularly. From then on, tasks may wait in this group
  // and in its parts at the same time.
  std::unique_ptr<Comm> star_;
};

}  // namespace sheaf

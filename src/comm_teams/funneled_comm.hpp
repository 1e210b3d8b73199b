// comm_teams/funneled_comm: the regular groups of hybrid programs: all threads of some processes, rank =
// process * threads + thread. Thread 0 of each process makes the calls between processes, while the others
// sleep in a meeting.
#pragma once

#include <memory>
#include <optional>

#include "comm/agree.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Counts no traffic: hybrid_comm does, which makes these.
class FunneledComm final : public Comm {
 public:
  // Collective over all threads. processes: null but on thread 0.
  FunneledComm(std::unique_ptr<Comm> processes, std::unique_ptr<Comm> threads);

  int rank() const override { return process_ * threads_->size() + threads_->rank(); }
  int size() const override { return nprocesses_ * threads_->size(); }
  void barrier() override;
  void broadcast(std::span<std::byte> data, int root) override;
  void all_max(std::span<int64_t> values) override;
  void all_sum(std::span<int64_t> values) override;
  void prefix_sum(std::span<int64_t> values) override;
  Gathered gather(std::span<const std::byte> mine, int root) override;
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override;
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override;
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override;
  std::unique_ptr<Comm> split(int color, int key) override;  // regular ones only; else throws unsupported
  std::unique_ptr<Comm> duplicate() override;
  std::unique_ptr<Comm> split_by_node() override;
  Traffic traffic() const override { return {}; }

  Comm& threads() { return *threads_; }
  bool is_master() const { return threads_->rank() == 0; }

  // What a split would make. `processes`: of the new group, on thread 0, if it consists of whole processes.
  enum class Shape : int64_t { whole_processes, within_processes, irregular };
  Shape shape_of_split(int color, int key, std::unique_ptr<Comm>& processes);

  // Runs `part` on thread 0; throws on all threads what it threw.
  template <class Part>
  void on_master(Part&& part) {
    std::optional<Error> problem;
    if (is_master()) problem = attempt(part);
    agree(*threads_, problem);
  }

 private:
  class FunneledExchange;

  // Gives a value of thread 0 to all threads.
  template <class T>
  void share(T& value) {
    threads_->broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
  }
  int process_of(int task) const { return task / threads_->size(); }
  int thread_of(int task) const { return task % threads_->size(); }

  std::unique_ptr<Comm> processes_;  // null but on thread 0
  std::unique_ptr<Comm> threads_;
  int process_ = 0;
  int nprocesses_ = 1;
};

}  // namespace sheaf

// watched_comm: a Comm that counts the single messages between its tasks, by whether they stay within a node, and that may
// refuse to share memory, or keep it for the next one. Groups made from it are watched as well.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/comm.hpp"
#include "comm/shared_memory.hpp"

namespace sheaf::test {

struct Watch {  // of one run, by all its tasks, which run in one thread
  int ranks_per_node = 1;
  bool shares_memory = true;
  bool keeps_memory = false;  // as groups of MPI do: the first one made of all tasks
  std::map<int64_t, std::shared_ptr<SharedMemory>> kept = {};  // by each task of the world
  int64_t within = 0;   // messages between tasks of a node
  int64_t between = 0;  // and of different ones
  int64_t steps = 0;    // exchanges that rank 0 took part in
};

class WatchedComm final : public Comm {
 public:
  WatchedComm(std::unique_ptr<Comm> comm, Watch& watch, int world_rank)
      : comm_(std::move(comm)), watch_(watch), names_(static_cast<size_t>(comm_->size())), name_(world_rank) {
    names_[static_cast<size_t>(comm_->rank())] = world_rank;
    comm_->all_max(names_);
  }

  int rank() const override { return comm_->rank(); }
  int size() const override { return comm_->size(); }
  int grain() const override { return comm_->grain(); }
  void barrier() override { comm_->barrier(); }
  void broadcast(std::span<std::byte> data, int root) override { comm_->broadcast(data, root); }
  void all_max(std::span<int64_t> values) override { comm_->all_max(values); }
  void all_sum(std::span<int64_t> values) override { comm_->all_sum(values); }
  void prefix_sum(std::span<int64_t> values) override { comm_->prefix_sum(values); }
  Gathered gather(std::span<const std::byte> mine, int root) override { return comm_->gather(mine, root); }
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override { return comm_->scatter(pieces, root); }
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    comm_->scatter_equal(pieces, mine, root);
  }
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
    if (name_ == 0) ++watch_.steps;
    for (const Outgoing& message : outgoing) {
      const auto node_of = [&](int64_t task) { return task / watch_.ranks_per_node; };
      ++(node_of(names_[static_cast<size_t>(message.peer)]) == node_of(name_) ? watch_.within : watch_.between);
    }
    return comm_->exchange(std::move(outgoing), std::move(incoming));
  }
  std::unique_ptr<Comm> split(int color, int key) override { return watched(comm_->split(color, key)); }
  std::unique_ptr<Comm> duplicate() override { return watched(comm_->duplicate()); }
  std::unique_ptr<Comm> split_by_node() override { return watched(comm_->split_by_node()); }
  std::unique_ptr<SharedMemory> share_memory(size_t bytes) override {
    if (!watch_.keeps_memory) return watch_.shares_memory ? comm_->share_memory(bytes) : nullptr;
    std::shared_ptr<SharedMemory>& kept = watch_.kept[name_];
    if (!kept || kept->bytes().size() < bytes) kept = comm_->share_memory(bytes);
    kept->set_label(0);
    return std::make_unique<KeptMemory>(kept);
  }
  std::unique_ptr<SharedMemory> kept_memory() override {
    return watch_.kept.contains(name_) ? std::make_unique<KeptMemory>(watch_.kept[name_]) : nullptr;
  }
  int node_count() override { return comm_->node_count(); }
  Traffic traffic() const override { return comm_->traffic(); }

 private:
  std::unique_ptr<Comm> watched(std::unique_ptr<Comm> comm) const {
    return std::make_unique<WatchedComm>(std::move(comm), watch_, static_cast<int>(name_));
  }

  const std::unique_ptr<Comm> comm_;
  Watch& watch_;
  std::vector<int64_t> names_;  // ranks in the world
  const int64_t name_;
};

}  // namespace sheaf::test

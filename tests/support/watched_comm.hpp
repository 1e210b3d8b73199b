// watched_comm: a Comm that counts point-to-point messages, separately within and between hosts. It can
// refuse to share memory, or keep shared memory for later groups. Groups that are split from it are watched
// as well.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/shared_memory.hpp"
#include "support/forwarding_comm.hpp"

namespace sheaf::test {

struct CommWatch {  // shared by all tasks of one run, which run in one thread
  int ranks_per_node = 1;
  bool shares_memory = true;
  bool keeps_memory = false;  // the first group of all tasks keeps its memory, as groups of MPI do
  std::map<int64_t, std::shared_ptr<SharedMemory>> kept = {};  // by task of the world
  int64_t within = 0;                                          // messages between tasks of one host
  int64_t between = 0;                                         // messages between hosts
  int64_t steps = 0;                                           // exchanges in which rank 0 participated
};

class WatchedComm final : public ForwardingComm {
 public:
  WatchedComm(std::unique_ptr<Comm> comm, CommWatch& watch, int world_rank)
      : ForwardingComm(std::move(comm)),
        watch_(watch),
        names_(static_cast<size_t>(comm_->size())),
        name_(world_rank) {
    names_[static_cast<size_t>(comm_->rank())] = world_rank;
    comm_->all_max(names_);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    if (name_ == 0) ++watch_.steps;
    for (const Outgoing& message : outgoing) {
      const auto node_of = [&](int64_t task) { return task / watch_.ranks_per_node; };
      ++(node_of(names_[static_cast<size_t>(message.peer)]) == node_of(name_) ? watch_.within
                                                                              : watch_.between);
    }
    return comm_->exchange(std::move(outgoing), std::move(incoming));
  }
  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override {
    if (!watch_.keeps_memory) return watch_.shares_memory ? comm_->share_memory(bytes) : nullptr;
    std::shared_ptr<SharedMemory>& kept = watch_.kept[name_];
    if (!kept || kept->bytes().size() < bytes) return kept = comm_->share_memory(bytes);
    kept->give_again();
    return kept;
  }

 private:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return std::make_unique<WatchedComm>(std::move(comm), watch_, static_cast<int>(name_));
  }

  CommWatch& watch_;
  std::vector<int64_t> names_;  // ranks in the world
  const int64_t name_;
};

}  // namespace sheaf::test

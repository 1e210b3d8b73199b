// comm/shm_barrier: a barrier for tasks that share memory, in which they exchange a few bytes.
//
// Every task writes its contribution into its own slot, polls for a short time (comm/spin_wait.hpp), and then
// sleeps until the last task has arrived. Then each task reads the contributions that it needs. The latency
// is one wake-up. A sleeping task leaves its core to tasks that compute, whereas a task that waits for
// messages would have to poll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/export.hpp"
#include "base/os/futex.hpp"
#include "comm/barrier_protocol.hpp"
#include "comm/constants.hpp"

namespace sheaf {

class SHEAF_EXPORT ShmBarrier {
 public:
  static constexpr int max_tasks = comm_constants::max_tasks_of_a_barrier;
  static constexpr size_t max_bytes = comm_constants::max_bytes_of_a_contribution;  // per contribution

  // Returns the bytes of memory needed for `tasks`.
  static size_t memory_size(int tasks);

  // `memory` is shared by the tasks, zeroed before the first task calls arrive(), and aligned to a cache
  // line. It must outlive the object.
  ShmBarrier(void* memory, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Collective. Publishes `mine` and returns when all tasks have arrived. Returns true, on all tasks alike,
  // if no contribution exceeds max_bytes. Calls `progress` repeatedly while waiting (comm/constants.hpp).
  bool arrive_and_wait(std::span<const std::byte> mine, const std::function<void()>& progress) {
    arrive(mine);
    return wait(progress);
  }
  // arrive() and wait() are the two halves of arrive_and_wait(); the task may do other work in between. The
  // caller may omit wait() if it knows that all tasks have arrived.
  void arrive(std::span<const std::byte> mine);
  bool wait(const std::function<void()>& progress);

  // Returns the contribution of task `rank` to the latest barrier, or an empty span if it exceeded max_bytes.
  // Valid until the next barrier.
  std::span<const std::byte> of(int rank) const;

 private:
  struct ShmBarrierHeader;
  struct Contribution;
  struct BarrierWords;  // accessors of the shared words for comm/barrier_protocol
  Contribution& contribution(uint32_t barrier, int rank) const;

  ShmBarrierHeader* head_;
  std::byte* contributions_;
  int rank_;
  int size_;
  BarrierProtocol<SharedWord> steps_;
};

}  // namespace sheaf

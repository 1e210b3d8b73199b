// comm/mpi/mpi_barrier: a ShmBarrier of the tasks of an MPI communicator, if they all share memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "comm/shared_memory.hpp"
#include "comm/shm_barrier.hpp"

namespace sheaf::mpi {

class Meeting : private NonCopyable {
 public:
  // Collective over `comm`. Creates `count` barriers. All are null on every task if the tasks do not all
  // share memory or it cannot be allocated, and if there are too many tasks or only one. `all` must contain
  // these tasks and be valid at every call.
  static std::vector<std::shared_ptr<Meeting>> several(MPI_Comm comm, int count, MPI_Comm all);

  // `place` points to ShmBarrier::memory_size(size) bytes in `memory`.
  Meeting(MPI_Comm comm, std::shared_ptr<SharedMemory> memory, void* place, int rank, int size)
      : comm_(comm), memory_(std::move(memory)), tasks_(place, rank, size) {}

  // The collective calls of Comm, with the same rules. A call that returns false has moved no data on any
  // task, because some contribution exceeds the limit of a ShmBarrier. Messages in flight make progress
  // while a task waits, as in any MPI call.
  void barrier() { meet({}); }
  bool broadcast(std::span<std::byte> data, int root);
  bool reduce(Reduction how, std::span<int64_t> values);
  bool prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals);
  bool gather(std::span<const std::byte> mine, Gathered& joined, int root);
  // Sets the length of this task's piece, and `mine` to the piece unless the length is negative.
  bool scatter(const Gathered& pieces, int64_t& length, std::vector<std::byte>& mine, int root);
  bool scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root);

 private:
  bool meet(std::span<const std::byte> mine);
  template <class Join>
  bool combine(std::span<const int64_t> mine, Join join);

  MPI_Comm comm_;
  const std::shared_ptr<SharedMemory> memory_;
  ShmBarrier tasks_;
};

}  // namespace sheaf::mpi

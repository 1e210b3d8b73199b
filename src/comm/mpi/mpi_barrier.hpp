// comm/mpi/mpi_barrier: collective calls of the tasks of an MPI communicator through a ShmBarrier, if all
// tasks share memory.
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

class MpiBarrier : private NonCopyable {
 public:
  // Collective over `comm`. Creates `count` barriers of its tasks. Returns null pointers on every task if the
  // tasks do not all share memory, if the memory cannot be allocated, or if there is one task or more than
  // ShmBarrier::max_tasks. `all` is a communicator that contains these tasks; it must be valid at every call.
  static std::vector<std::shared_ptr<MpiBarrier>> several(MPI_Comm comm, int count, MPI_Comm all);

  // `place` points to ShmBarrier::memory_size(size) bytes in `memory`.
  MpiBarrier(MPI_Comm comm, std::shared_ptr<SharedMemory> memory, void* place, int rank, int size)
      : comm_(comm), memory_(std::move(memory)), tasks_(place, rank, size) {}

  // These are the collective calls of Comm, with the same rules. If a contribution exceeds
  // ShmBarrier::max_bytes, a call returns false on all tasks and moves no data. Messages in flight make
  // progress while a task waits, as in any MPI call.
  void barrier() { arrive_and_wait({}); }
  bool broadcast(std::span<std::byte> data, int root);
  bool reduce(Reduction how, std::span<int64_t> values);
  bool prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals);
  bool gather(std::span<const std::byte> mine, Gathered& joined, int root);
  // Sets `length` to the length of this task's piece. If it is not negative, sets `mine` to the piece.
  bool scatter(const Gathered& pieces, int64_t& length, std::vector<std::byte>& mine, int root);
  bool scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root);

 private:
  bool arrive_and_wait(std::span<const std::byte> mine);
  template <class Join>
  bool combine(std::span<const int64_t> mine, Join join);

  MPI_Comm comm_;
  const std::shared_ptr<SharedMemory> memory_;
  ShmBarrier tasks_;
};

}  // namespace sheaf::mpi

// comm/mpi/mpi_hosts: reductions by messages. On several hosts, the tasks of each host first reduce in shared
// memory. Then the first tasks of all hosts exchange messages and publish the result on their hosts. Only
// these first tasks send messages and poll.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "comm/mpi/mpi_barrier.hpp"

namespace sheaf::mpi {

// Collective over `comm`. Implements Comm::reduce() with messages of at most `largest` bytes.
void reduce_by_messages(MPI_Comm comm, Reduction how, std::span<int64_t> values, size_t largest = INT_MAX);

// Collective over `comm`. Implements Comm::reduce_by() for `method` allreduce or allgather, by blocking calls
// of MPI, which networks accelerate. Each call has at most `largest` bytes, but at least one number.
void reduce_by_collective(MPI_Comm comm, ReductionMethod method, Reduction how, std::span<int64_t> values,
                          size_t largest = INT_MAX);

class HostsReduction : private NonCopyable {
 public:
  // Local. Reduces over the tasks of `comm`, which must outlive the object. `host` is the number of this
  // task's host. If it is negative, MPI groups the tasks by shared memory.
  explicit HostsReduction(MPI_Comm comm, int host = -1) : comm_(comm), host_(host) {}
  // Frees the communicators of this object. Collective, because MPI_Comm_free() is. The object must not be
  // used afterwards.
  void free();

  // Implements Comm::reduce(). Returns false on all tasks, without moving data, in each of these cases: fewer
  // than reductions_worth_hosts calls were made, so that finding the hosts may not pay;
  // Reduction::exclusive_scan; more values than a barrier can hold; no host with several tasks; a host whose
  // tasks cannot share memory. If the first task of a host fails, throws its error on all tasks of that host.
  bool reduce(Reduction how, std::span<int64_t> values);

 private:
  void find_hosts();

  const MPI_Comm comm_;
  const int host_;
  int calls_ = 0;
  bool meets_ = false;                   // equal on all tasks
  MPI_Comm firsts_ = MPI_COMM_NULL;      // the first tasks of all hosts; null on other tasks
  std::shared_ptr<MpiBarrier> barrier_;  // the tasks of this host; null if there is only one
};

}  // namespace sheaf::mpi

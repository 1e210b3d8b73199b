// comm_mpi/mpi_hosts: how tasks reduce numbers by messages. On several hosts those of a host meet in its
// memory before, and its first task tells the result to those of the others: only these send messages, and
// only these poll.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "comm_mpi/mpi_meeting.hpp"

namespace sheaf::mpi {

// Collective over `comm`. Comm::reduce() in messages of `largest` bytes at most.
void reduce_by_messages(MPI_Comm comm, Reduction how, std::span<int64_t> values, size_t largest = INT_MAX);

class HostsMeeting : private NonCopyable {
 public:
  // For the tasks of `comm`, which outlives it. `host`: the number of this task's; negative: MPI finds who
  // share memory. Local.
  explicit HostsMeeting(MPI_Comm comm, int host = -1) : comm_(comm), host_(host) {}
  // Collective in MPI's eyes; nothing is to be called behind.
  void free();

  // That of Comm, after the first calls, in which tasks that reduce little spare finding their hosts. False,
  // and nothing has moved on any task, in these, for Reduction::sum_before, for too many values for a
  // meeting, and if each host has one task, or those of a host cannot meet. Throws on all tasks of a host
  // what its first one met.
  bool reduce(Reduction how, std::span<int64_t> values);

 private:
  void find_hosts();

  const MPI_Comm comm_;
  const int host_;
  int calls_ = 0;
  bool meets_ = false;                // the same on all tasks
  MPI_Comm firsts_ = MPI_COMM_NULL;   // of all hosts; null on the others
  std::shared_ptr<Meeting> meeting_;  // of the tasks of this host; null if there is one
};

}  // namespace sheaf::mpi

// comm_mpi/mpi_hosts: how tasks of several hosts reduce numbers. Those of a host meet in its memory, and its
// first task tells the result to those of the others: only these send messages, and only these poll.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "comm_mpi/mpi_meeting.hpp"

namespace sheaf::mpi {

class HostsMeeting : private NonCopyable {
 public:
  // Collective over `comm`. Null on every task if each host has one, or those of a host cannot meet.
  // `host`: the number of this task's; negative: MPI finds who share memory.
  static std::shared_ptr<HostsMeeting> make(MPI_Comm comm, int host = -1);
  // Collective in MPI's eyes; nothing is to be called behind.
  void free();

  // That of Comm; false, and nothing has moved on any task, for Reduction::sum_before, or if there are too
  // many values for a meeting. Throws on all tasks of a host what its first one met.
  bool reduce(Reduction how, std::span<int64_t> values);

 private:
  HostsMeeting(MPI_Comm host, MPI_Comm firsts) : host_(host), firsts_(firsts) {}

  const MPI_Comm host_;
  const MPI_Comm firsts_;             // of all hosts; null on the others
  std::shared_ptr<Meeting> meeting_;  // of the tasks of this host; null if there is one
};

}  // namespace sheaf::mpi

// comm/mpi/mpi_presence: determines within a limited time whether all tasks of a communicator are present.
//
// MPI's collective calls cannot time out. Therefore tasks send messages of a few bytes to task 0 instead, and
// only tasks that are present get an answer. A decision takes two rounds: the second one confirms that all
// tasks are still waiting before any task receives `all`.
//
//   others: present (ready or not)        ->  task 0: waits for all
//   task 0: stay, or go if any is not ready  ->  others
//   others: staying                       ->  task 0: waits for all
//   task 0: all, or go                    ->  others
//
// A task that times out before it has sent `staying` leaves; task 0 then gets no answer from it.
#pragma once

#include <mpi.h>

#include <chrono>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Implements Comm::wait_for_all() on a communicator owned by Sheaf.
Presence wait_for_all(MPI_Comm comm, bool ready, std::chrono::milliseconds timeout);

}  // namespace sheaf::mpi

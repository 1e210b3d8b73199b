// comm_mpi/mpi_presence: whether all tasks of a communicator are in one place, without waiting for ever.
//
// MPI's own collective calls cannot be given up. Here tasks send messages of a few bytes to task 0, and only
// those that are there get an answer. A decision takes two rounds, so that all that hear `all` are still
// there:
//
//   others: present (ready or not)        ->  task 0: waits for all
//   task 0: stay, or go if any is not ready  ->  others
//   others: staying                       ->  task 0: waits for all
//   task 0: all, or go                    ->  others
//
// A task whose time is over before it has said `staying` leaves; task 0 then gets no answer from it.
#pragma once

#include <mpi.h>

#include <chrono>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Comm::meet_within() on a communicator of our own.
Presence meet_within(MPI_Comm comm, bool ready, std::chrono::milliseconds patience);

}  // namespace sheaf::mpi

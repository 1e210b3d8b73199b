// comm_mpi/mpi_patience: waiting for other tasks without taking the processor away from them.
//
// MPI's blocking calls poll. With more tasks than cores a task that polls keeps one that has work from
// running; MPICH does not even yield. Here a task that waits yields for a while (constants.hpp), long enough
// for tasks that come together, and then sleeps in short steps.
#pragma once

#include <mpi.h>

#include "comm_mpi/mpi_calls.hpp"

namespace sheaf::mpi {

// Completes `request`. Throws Error io with MPI's own words and the name of the call behind it.
void wait(MPI_Request& request, const char* call, MPI_Status* status = MPI_STATUS_IGNORE);

// Starts a nonblocking call, start(MPI_Request*), and returns when it is complete.
template <class Start>
void patiently(const char* call, Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(start(&request), call);
  wait(request, call);
}

}  // namespace sheaf::mpi

// comm/mpi/mpi_timeout: waits for other tasks without occupying the processor.
//
// MPI's blocking calls poll. If there are more tasks than cores, a polling task keeps a task with work from
// running; MPICH does not even yield. A waiting task therefore yields at first, for as long as tasks that
// arrive together usually wait, and then sleeps in short steps (constants.hpp).
#pragma once

#include <mpi.h>

#include "comm/mpi/mpi_calls.hpp"

namespace sheaf::mpi {

// Completes `request`. Throws Error io with the name of the call and MPI's error string if it fails.
void wait(MPI_Request& request, const char* call, MPI_Status* status = MPI_STATUS_IGNORE);

// Starts a nonblocking MPI call by start(MPI_Request*), and returns when the call has completed.
template <class Start>
void with_retries(const char* call, Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(start(&request), call);
  wait(request, call);
}

}  // namespace sheaf::mpi

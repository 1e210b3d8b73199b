#include "comm/mpi/mpi_timeout.hpp"

#include "comm/mpi/constants.hpp"

namespace sheaf::mpi {

void wait(MPI_Request& request, const char* call, MPI_Status* status) {
  for (Backoff backoff(call_backoff);; backoff.wait()) {
    int done = 0;
    check(MPI_Test(&request, &done, status), call);
    if (done) return;
  }
}

}  // namespace sheaf::mpi

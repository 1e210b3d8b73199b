#include "comm/mpi/mpi_timeout.hpp"
#include "comm/mpi/constants.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sheaf::mpi {

using clock = std::chrono::steady_clock;

void wait(MPI_Request& request, const char* call, MPI_Status* status) {
  const auto begin = clock::now();
  for (;;) {
    int done = 0;
    check(MPI_Test(&request, &done, status), call);
    if (done) return;
    const auto waited = clock::now() - begin;
    if (waited < yielding) {
      sched_yield();
    } else {
      // Adds a delay of at most a sixteenth of the time already waited.
      std::this_thread::sleep_for(std::clamp<clock::duration>(waited / 16, min_sleep, max_sleep));
    }
  }
}

}  // namespace sheaf::mpi

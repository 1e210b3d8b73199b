// bench/yielding_mpi: waits for other tasks as the library does, for times that a long sleep (quiet_mpi.hpp)
// would distort.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include "bench_common.hpp"

namespace yielding {

// Yields the core to tasks that work, then sleeps in short steps.
inline void wait(MPI_Request* request, MPI_Status* status = MPI_STATUS_IGNORE) {
  int done = 0;
  for (double idle = bench::now(); !done;) {
    MPI_Test(request, &done, status);
    if (done) break;
    if (bench::now() - idle < 300e-6)
      sched_yield();
    else
      usleep(50);
  }
}

inline void barrier(MPI_Comm comm) {
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  wait(&request);
}

// All tasks of `comm` start together. Returns the seconds to the end of the last one.
template <class Work>
double timed(MPI_Comm comm, Work work) {
  barrier(comm);
  const double begin = bench::now();
  work();
  barrier(comm);
  return bench::now() - begin;
}

}  // namespace yielding

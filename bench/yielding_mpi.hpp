// bench/yielding_mpi: waits for other tasks as the library does. For times so short that the sleep of
// quiet_mpi.hpp would distort them.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include "bench_common.hpp"

namespace yielding {

// Waits for the request: first yields the core to working tasks, then sleeps in short steps.
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

// Starts `work` on all tasks of `comm` together. Returns the seconds until the last task has ended.
template <class Work>
double timed(MPI_Comm comm, Work work) {
  barrier(comm);
  const double begin = bench::now();
  work();
  barrier(comm);
  return bench::now() - begin;
}

}  // namespace yielding

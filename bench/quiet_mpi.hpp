// bench/quiet_mpi: waits for other tasks without using their cores. MPI's own calls poll. If there are more
// tasks than cores, polling takes time from working tasks and distorts measurements.
#pragma once

#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

#include "bench_common.hpp"

namespace quiet {

inline void wait(MPI_Request request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (unsigned pause = 50; !done; pause = pause < 4000 ? 2 * pause : pause) {
    usleep(pause);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

inline void barrier() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait(request);
}

inline void sleep_until(double moment) {
  timespec t;
  t.tv_sec = static_cast<time_t>(std::floor(moment));
  t.tv_nsec = static_cast<long>((moment - std::floor(moment)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) continue;
}

// Collective. All tasks start `work` at the same time, on the clock of the machine they share. Returns, on
// every task, the seconds until the last task has ended.
template <class Work>
double timed(int rank, Work&& work) {
  barrier();
  double start = rank == 0 ? bench::now() + 0.04 : 0;
  MPI_Request request;
  MPI_Ibcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  wait(request);
  sleep_until(start);
  work();
  const double mine = bench::now();
  double last = 0;
  MPI_Iallreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  wait(request);
  return last - start;
}

}  // namespace quiet

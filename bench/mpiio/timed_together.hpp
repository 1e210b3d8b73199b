// bench/mpiio/timed_together: what tasks do together, and how long that takes.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <thread>

// Collective. All tasks sleep, for MPICH's poll without yielding, until a moment that they agree on, so that
// they begin together: those who leave a barrier one after the other begin up to 0.6 ms apart (16 tasks on
// two cores). Seconds from the first one's begin to the last one's end, by a clock that all processes of the
// machine share.
template <class Work>
double timed_together(MPI_Comm tasks, Work work) {
  using clock = std::chrono::steady_clock;
  const auto now = [] { return std::chrono::duration<double>(clock::now().time_since_epoch()).count(); };
  double begin = now() + 0.005;
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, tasks, &request);
  for (int done = 0; !done;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) usleep(200);
  }
  std::this_thread::sleep_until(
      clock::time_point(std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(begin))));
  double span[2] = {-now(), 0};
  work();
  span[1] = now();
  MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_DOUBLE, MPI_MAX, tasks);
  return span[0] + span[1];
}

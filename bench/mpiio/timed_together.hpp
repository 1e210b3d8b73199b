// bench/mpiio/timed_together: measures work that tasks start at the same time.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <thread>

// Begin and end of work, in seconds of CLOCK_MONOTONIC, which all processes of the machine share.
struct TimeSpan {
  double begin = 0, end = 0;
  double seconds() const { return end - begin; }
};

// Collective. All tasks sleep until an agreed moment and then start together. A barrier would be less exact:
// tasks leave it up to 0.6 ms apart (16 tasks on two cores), and MPICH's tasks poll without yielding. Returns
// the time from the first start to the last end.
template <class Work>
TimeSpan span_together(MPI_Comm tasks, Work work) {
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
  return {-span[0], span[1]};
}

// Collective. As span_together(); returns the seconds.
template <class Work>
double timed_together(MPI_Comm tasks, Work work) {
  return span_together(tasks, work).seconds();
}

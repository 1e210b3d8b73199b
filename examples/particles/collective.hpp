// Small collective operations that several parts of the program use.
#pragma once

#include <mpi.h>

#include "particle.hpp"

namespace particles {

// Collective. Returns true, on all tasks, if `ok` is true on all tasks.
inline bool agree(bool ok, MPI_Comm world) {
  bool all = false;
  MPI_Allreduce(&ok, &all, 1, MPI_CXX_BOOL, MPI_LAND, world);
  return all;
}

// Collective. Returns the digest of the union of the sets of all tasks.
inline Digest combined(Digest mine, MPI_Comm world) {
  MPI_Allreduce(MPI_IN_PLACE, &mine.sum, 1, MPI_UINT64_T, MPI_SUM, world);
  MPI_Allreduce(MPI_IN_PLACE, &mine.xor_, 1, MPI_UINT64_T, MPI_BXOR, world);
  return mine;
}

// Collective. Returns, on all tasks, the seconds from the arrival of the last task until the last task is
// done.
//
// Each task measures from its own arrival to its own departure, and the minimum is returned. No measurement
// is shorter than this result, and the measurement of the last task to arrive is hardly longer. So clocks of
// different hosts need not be compared. A clock that starts after a barrier would miss work: other tasks may
// begin before a task on a shared core wakes up.
template <class Action>
double time_of(MPI_Comm world, Action action) {
  const double arrived = MPI_Wtime();
  MPI_Barrier(world);
  action();
  MPI_Barrier(world);
  double seconds = MPI_Wtime() - arrived;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MIN, world);
  return seconds;
}

}  // namespace particles

// Small collective operations that several parts need.
#pragma once

#include <mpi.h>

#include "particle.hpp"

namespace particles {

// Collective: true, on all tasks, if `ok` is true on all tasks.
inline bool agree(bool ok, MPI_Comm world) {
  bool all = false;
  MPI_Allreduce(&ok, &all, 1, MPI_CXX_BOOL, MPI_LAND, world);
  return all;
}

// Collective: the digest of the union of the sets of all tasks.
inline Digest combined(Digest mine, MPI_Comm world) {
  MPI_Allreduce(MPI_IN_PLACE, &mine.sum, 1, MPI_UINT64_T, MPI_SUM, world);
  MPI_Allreduce(MPI_IN_PLACE, &mine.xor_, 1, MPI_UINT64_T, MPI_BXOR, world);
  return mine;
}

// Collective. Seconds from the moment the last task arrives until the last one is done, the same on all
// tasks.
//
// Each task measures from its own arrival to its own departure, and the least of these is taken: none is
// shorter than the time sought, that of the last task to arrive is hardly longer, and no clocks of different
// nodes are compared. To start the clock after a barrier would miss what others do before a task that shares
// its core wakes up.
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

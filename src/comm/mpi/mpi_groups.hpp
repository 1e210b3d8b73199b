// comm/mpi/mpi_groups: checks whether the tasks' communicators partition a given communicator.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"

namespace sheaf {

// Collective over `comm`, which has the tasks of `whole`, and possibly further tasks that pass MPI_COMM_NULL
// as `part` (threads of an MPI process). Throws mismatch on all tasks alike unless the communicators `part`
// partition `whole`. This prevents tasks from waiting in `part` for a task that has another communicator, or
// none. Sends nothing over `whole` or `part`. Costs one reduction, time O(tasks of `part`) and memory O(1).
void check_partition(Comm& comm, MPI_Comm whole, MPI_Comm part);

}  // namespace sheaf

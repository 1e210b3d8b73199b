// comm_mpi/mpi_groups: whether the communicators that tasks bring are a partition of another one.
#pragma once

#include <mpi.h>

#include "comm/comm.hpp"

namespace sheaf {

// Collective over `comm`, whose tasks are those of `whole`, or each of them with some more that bring no
// `part` (MPI_COMM_NULL; threads of an MPI process). Throws mismatch on all tasks alike unless the
// communicators `part` are a partition of `whole`: so that nobody waits in a `part` for a task that has
// another one, or is not there at all. Nothing is sent over `whole` or `part`. One reduction; time O(tasks of
// `part`), memory O(1).
void check_partition(Comm& comm, MPI_Comm whole, MPI_Comm part);

}  // namespace sheaf

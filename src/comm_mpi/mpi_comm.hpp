// comm_mpi/mpi_comm: tasks are the ranks of an MPI communicator.
//
// Talks on a duplicate of the communicator it is given, so that its messages never meet the program's; a
// failing MPI call throws Error io with MPI's own words. Needs MPI 3.0, initialized; one thread at a time
// (MPI_THREAD_SERIALIZED if not the main thread). Nothing but this file and its .cpp files (and api/*_mpi)
// may include <mpi.h>.
#pragma once

#include <mpi.h>

#include <climits>
#include <memory>

#include "comm/comm.hpp"

namespace sheaf {

// Local; `comm` remains the caller's and must live until the first collective call on the result. That call
// finds a duplicate (mpi_spares.hpp); if it is all_max() of up to 16 values, which every open begins with, in
// the same reduction. Groups split from it are kept for the next Comm that splits alike (mpi_parts.hpp); what
// cannot be kept is freed with its Comm (collective in MPI's eyes: destroy in the same order everywhere), or
// left to MPI if that has been finalized by then.
//
// split_by_node() groups by shared memory, or, where the environment of rank 0 has SHEAF_TOPOLOGY=node=K, by
// every K consecutive ranks of `comm`, also on groups split from it. A bad SHEAF_TOPOLOGY is Error
// invalid_argument on all.
//
// largest_message: most bytes one MPI call may move; longer data go in pieces. Lowered by tests only. Same on
// all.
SHEAF_EXPORT std::unique_ptr<Comm> mpi_comm(MPI_Comm comm, int largest_message = INT_MAX);

}  // namespace sheaf

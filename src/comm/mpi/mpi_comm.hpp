// comm/mpi/mpi_comm: tasks are the ranks of an MPI communicator.
//
// Uses a duplicate of the given communicator, so that its messages never mix with those of the program. A
// failing MPI call throws Error io with MPI's error string. Requires MPI 3.0, initialized, and one calling
// thread at a time (MPI_THREAD_SERIALIZED if that is not the main thread). Only the files of this folder and
// api/*_mpi may include <mpi.h>.
#pragma once

#include <mpi.h>

#include <climits>
#include <memory>

#include "comm/comm.hpp"

namespace sheaf {

// Local. `comm` remains the caller's and must live until the first collective call on the result. That call
// acquires a duplicate (mpi_spares.hpp). If it is all_max() of at most 16 values, as in every open, the same
// reduction does both.
//
// Groups split from the result are cached for the next Comm that splits in the same way (mpi_parts.hpp). A
// group that cannot be cached is freed with its Comm. MPI treats that as collective, so destroy such groups
// in the same order on all tasks. After MPI_Finalize nothing is freed.
//
// split_by_node() groups by shared memory. If the environment of rank 0 has SHEAF_TOPOLOGY=node=K, it groups
// every K consecutive ranks of `comm`, also on groups split from it. Throws Error invalid_argument on all
// tasks if SHEAF_TOPOLOGY is invalid.
//
// largest_message: maximum bytes per MPI call; longer data are sent in parts. Must be the same on all tasks.
// Only tests lower it.
SHEAF_EXPORT std::unique_ptr<Comm> mpi_comm(MPI_Comm comm, int largest_message = INT_MAX);

}  // namespace sheaf

// comm/mpi/mpi_comm: a Comm whose tasks are the ranks of an MPI communicator.
//
// Uses a duplicate of the given communicator, so that its messages never mix with those of the program. A
// failing MPI call throws Error io with MPI's error string. Requires MPI 3.0, initialized, and one calling
// thread at a time (MPI_THREAD_SERIALIZED if that is not the main thread). Outside this folder, only the
// modules that implement interfaces over MPI may include <mpi.h> (tests/house lists them).
#pragma once

#include <mpi.h>

#include <climits>
#include <memory>

#include "comm/comm.hpp"

namespace sheaf {

// Local. `comm` remains the caller's and must live until the first collective call on the result. That call
// acquires a duplicate (mpi_comm_cache.hpp). If the call is all_max() of at most 17 values, as in every open,
// a single reduction computes the maxima and acquires the duplicate.
//
// Groups split from the result are cached for the next Comm that splits in the same way
// (mpi_split_cache.hpp). A group that cannot be cached is freed with its Comm. MPI_Comm_free() is collective,
// so all tasks must destroy such groups in the same order. After MPI_Finalize, destructors free nothing.
//
// split_by_node() groups by shared memory. If the environment of rank 0 has SHEAF_TOPOLOGY=node=K, it groups
// every K consecutive ranks of `comm`, also when it is called on a group split from the result. Throws Error
// invalid_argument on all tasks if SHEAF_TOPOLOGY is invalid.
//
// `largest_message` is the maximum number of bytes per MPI call, equal on all tasks; longer data are sent in
// parts. Only tests lower it.
SHEAF_EXPORT std::unique_ptr<Comm> mpi_comm(MPI_Comm comm, int largest_message = INT_MAX);

// Returns job_end() of mpi_comm(comm), for calls that have yet to create it: MPI_Abort. Local.
SHEAF_EXPORT JobEnd mpi_job_end(MPI_Comm comm);

}  // namespace sheaf

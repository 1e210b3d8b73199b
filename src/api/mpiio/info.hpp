// api/mpiio/info: hints between MPI_Info and the shared file.
#pragma once

#include <mpi.h>

#include "sharedfile/hints.hpp"

namespace sheaf::mpiio {

// Takes over the hints of `info` that are understood; MPI_INFO_NULL has none. `tells`: leaves a warning of
// values that are not, as one task does. Local.
void take_hints(MPI_Info info, Hints& hints, bool tells);

// A new info object, the caller's, with all hints in use. Local.
MPI_Info info_of(const Hints& hints);

}  // namespace sheaf::mpiio

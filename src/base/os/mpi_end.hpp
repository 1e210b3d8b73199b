// base/os/mpi_end: what the process does in MPI_Finalize, while tasks can still communicate. Modules that
// intercept MPI_Finalize run the action of a module that they do not include.
#pragma once

#include "base/export.hpp"

namespace sheaf {

// Sets the action of run_before_mpi_ends(). Called by the module that keeps the multifiles that programs
// leave open. Any thread may call it.
void before_mpi_ends(void (*action)());

// Runs the action, if one was set. Local, unless the action communicates.
SHEAF_EXPORT void run_before_mpi_ends();

}  // namespace sheaf

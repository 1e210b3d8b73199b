// api/mpiio/striped: `sfio:` names under the drop-in: through the I/O listeners of the session that
// libsheaf_sfio runs in this process, if there is one; else each task reaches the subfiles itself.
#pragma once

#include <mpi.h>

#include <string>

namespace sheaf::mpiio {

// Before `path` is used, collective over `comm` (MPI_COMM_NULL: local). Does nothing for other names. Begins
// a session if there is none and SHEAF_SFIO is set; MpiError if that needs more tasks than `comm` has, or
// fails.
void follow_session(const std::string& path, MPI_Comm comm);

}  // namespace sheaf::mpiio

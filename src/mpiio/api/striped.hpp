// mpiio/api/striped: `sfio:` names in the drop-in. Files are accessed through the I/O listeners of the
// session that libsheaf_sfio runs in this process. Without a session, each task accesses the subfiles itself.
#pragma once

#include <mpi.h>

#include <string>

namespace sheaf::mpiio {

// Attaches to the session before `path` is used. No effect for names without `sfio:`. Starts a session if
// none is running and SHEAF_SFIO is set. Throws MpiError if that requires more tasks than `comm` has, or
// fails. Collective over `comm`; local if that is MPI_COMM_NULL.
void follow_session(const std::string& path, MPI_Comm comm);

}  // namespace sheaf::mpiio

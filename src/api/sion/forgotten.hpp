// api/sion/forgotten: multifiles that are still open for writing when the program ends.
//
// stdio writes its buffers when a program ends without fclose(). Multifiles behave likewise:
// - At exit every process flushes its open multifiles and records the flushed bytes in their journals, as
//   sion_flush() does. Readers then find all written data, and report that the multifile was not closed.
// - MPI_Finalize closes a multifile that all its tasks have left open, because the tasks can still
//   communicate.
// - `atomic` multifiles do not get their final names, because the program has not declared them complete.
// - A forked child does not touch handles of its parent.
//
// A process prints one warning, which names the open multifiles in which it has the first task.
#pragma once

#include "base/export.hpp"

namespace sheaf::api {

// Installs the exit handler that flushes open handles. Local and thread-safe.
void watch_exit();

// Flushes the multifiles that MPI tasks have left open. Closes a multifile if all its tasks have left it
// open, unless it is `atomic`. MPI_Finalize calls the function before MPI ends. Not collective, but waits for
// the other tasks of a multifile for a limited time (SHEAF_FINALIZE_WAIT).
SHEAF_EXPORT void end_with_mpi();

}  // namespace sheaf::api

// api/sion/forgotten: multifiles that are open for writing when the program ends.
//
// stdio writes what its buffers hold when a program ends without fclose(). Multifiles do the same:
// - At exit every process flushes such multifiles and records that in their journals, as sion_flush() does.
//   Readers find all that was written, and say that the multifile was not closed.
// - In MPI_Finalize, where tasks can still talk, a multifile that all its tasks have left open is closed.
// - `atomic` multifiles do not get their names, since nobody has said that they are complete.
// - A forked child leaves alone what its parent has opened.
// The first task of each multifile warns, once for all that it has left open.
#pragma once

#include "base/export.hpp"

namespace sheaf::api {

// From now on what is still open at exit is flushed. Local; any thread.
void watch_exit();

// In MPI_Finalize, before MPI ends: for multifiles over tasks of MPI. Not collective.
SHEAF_EXPORT void end_with_mpi();

}  // namespace sheaf::api

// api/sion/exit_saves: what happens to pending saves in the background when MPI or the process ends.
#pragma once

namespace sheaf::api {

// Finishes the saves of this process, and reports failures that the program does not know of. `where` names
// the end for messages. Local.
//   finish_saves_with_mpi: waits for the outcome of all tasks.
//   finish_saves_with_process: waits for the work of this process only, because others may have ended.
void finish_saves_with_mpi(const char* where);
void finish_saves_with_process(const char* where);

}  // namespace sheaf::api

// api/sion/families/at_finalize: MPI_Finalize looks for multifiles that the program has left open
// (api/sion/forgotten).
#pragma once

namespace sheaf::api {

// From now on. Local, by a thread that may call MPI.
void watch_finalize();

}  // namespace sheaf::api

// api/sion/families/at_finalize: makes MPI_Finalize handle multifiles that the program has left open
// (api/sion/forgotten).
#pragma once

namespace sheaf::api {

// Installs the hook. Local; the calling thread must be allowed to call MPI.
void watch_finalize();

}  // namespace sheaf::api

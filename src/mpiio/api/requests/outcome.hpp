// mpiio/api/requests/outcome: the result of a nonblocking call on a file, passed from the request to the call
// that completes it.
//
// When a generalized request fails, MPI calls the error handler of a communicator, because MPI does not know
// the file. The drop-in therefore provides the completion calls (completion.cpp). It watches requests that
// have failed or may still fail. A completion call reports watched requests as successful to the MPI library,
// then looks up their outcomes and calls the error handler of the file. While no request is watched, a
// completion call costs one additional load of a counter.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/non_copyable.hpp"
#include "mpiio/api/handles.hpp"

namespace sheaf::mpiio {

// Result of one nonblocking call. The thread that runs the call writes it before the request completes.
struct RequestOutcome {
  std::weak_ptr<MpiFile> file;
  MPI_Request request = MPI_REQUEST_NULL;
  int64_t bytes = 0;
  int result = MPI_SUCCESS;  // error class
  std::string message;
  std::atomic<bool> released = false;  // the program has released the request

  // Calls the error handler of the file if the call failed. Returns the code, which the handler may change.
  int deliver() const;
};
using SharedOutcome = std::shared_ptr<RequestOutcome>;

// Add and remove an entry of the table of watched requests. All calls on the table are thread-safe.
void watch(const SharedOutcome& outcome);
void no_longer_watch(const RequestOutcome& outcome);  // no effect if not watched
// Returns the outcome of a watched request. Returns null for other requests, such as those of sends and
// receives.
SharedOutcome find_outcome(MPI_Request request);
inline std::atomic<int64_t> watched_requests = 0;

// While an instance exists, file requests completed by its thread report success to the MPI library.
class WithoutErrors : private NonCopyable {
 public:
  WithoutErrors() { active_ = true; }
  ~WithoutErrors() { active_ = false; }
  static bool active() { return active_; }

 private:
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local bool active_ = false;
};

}  // namespace sheaf::mpiio

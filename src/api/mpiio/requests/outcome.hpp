// api/mpiio/requests/outcome: what a nonblocking call on a file came to, from the request to the call that
// completes it.
//
// MPI calls the error handler of a communicator when a generalized request fails, since it knows of no file.
// So the completion calls are ours (completion.cpp): they ask for the outcome of requests that have failed or
// may still fail, let the MPI library take these for successful, and then call the handler of the file. Only
// such requests are watched; all others cost a completion call one look at a counter.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "api/mpiio/handles.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::mpiio {

// Written by the task that carries the call out, before the request is complete.
struct Outcome {
  std::weak_ptr<OpenFile> file;
  MPI_Request request = MPI_REQUEST_NULL;
  int64_t bytes = 0;
  int result = MPI_SUCCESS;  // an error class
  std::string message;
  std::atomic<bool> released = false;  // the program has given the request back

  // Calls the error handler of the file if the call has failed. Returns the code that the handler leaves.
  int deliver() const;
};
using SharedOutcome = std::shared_ptr<Outcome>;

// The table of watched requests. All for any thread.
void watch(const SharedOutcome& outcome);
void no_longer_watch(const Outcome& outcome);  // does nothing if it is not watched
// Null if the request is not watched, a request of the program's own for instance.
SharedOutcome find_outcome(MPI_Request request);
inline std::atomic<int64_t> watched_requests = 0;

// While one lives, the MPI library takes requests of files that this thread completes for successful.
class WithoutErrors : private NonCopyable {
 public:
  WithoutErrors() { active_ = true; }
  ~WithoutErrors() { active_ = false; }
  static bool active() { return active_; }

 private:
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local bool active_ = false;
};

}  // namespace sheaf::mpiio

// api/sfio/runtime: the session of this task: its communicators, its link to the listeners, its listener
// thread. One per process, made by sfio_start() and ended by sfio_stop() or MPI_Finalize.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "api/sfio/refused.hpp"
#include "api/sfio/shared_session.hpp"
#include "api/sion/handles/report.hpp"
#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "comm_mpi/mpi_messages.hpp"
#include "stripedfile/session/session.hpp"

namespace sheaf::sfio {

class Runtime : private NonCopyable {
 public:
  // Collective over `all`: see sfio_start(). A listener's task serves in here and returns after the session
  // has ended. Throws on all tasks or on none.
  static void start(MPI_Comm all, const char* how);

  // Collective over the compute tasks.
  static void stop();

  // Null without a session, on a listener's task and after the end.
  static Runtime* current();

  // The same; begins a session over MPI_COMM_WORLD if there is none. Collective then. Throws what start()
  // throws.
  static Runtime& required();

  ~Runtime();

  int64_t number() const { return number_; }
  MPI_Comm compute() const { return compute_; }
  Comm& comm() { return *comm_; }
  const std::shared_ptr<Link>& link() { return link_; }
  SharedSession shared() const;

 private:
  Runtime();
  void begin(MPI_Comm all, const char* how);
  void serve_in_thread();

  int64_t number_ = 0;  // sessions of this process before this one, and this one
  MPI_Comm compute_ = MPI_COMM_NULL;
  std::unique_ptr<Comm> comm_;  // of the compute tasks
  std::unique_ptr<MpiMessages> messages_;
  std::shared_ptr<Link> link_;
  SessionOptions options_;
  // Of the listener: wherever the program goes meanwhile
  const std::shared_ptr<Store> files_;
  std::unique_ptr<Service> service_;
  std::thread thread_;
  std::atomic<bool> given_up_{false};  // the session ends without the goodbye that ends the thread
};

// Reports an error of a call and sets errno. The task's number is that among the compute tasks.
void report_error(const char* call, const std::exception& error);

// Runs a call; `failure` is what it returns after an error.
template <class Result, class Body>
Result guarded(const char* call, Result failure, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    report_error(call, error);
  }
  return failure;
}

// The same for a call that has nothing to say but that all went well: 0, or -1.
template <class Body>
int succeeds(const char* call, Body&& body) {
  return guarded(call, -1, [&] {
    body();
    return 0;
  });
}

// Both, for a call that merror() counts under `kind` if it fails.
template <class Result, class Body>
Result guarded(Counted kind, const char* call, Result failure, Body&& body) {
  return guarded(call, failure, [&] {
    try {
      return body();
    } catch (const std::exception& error) {
      count_refused(kind, error);
      throw;
    }
  });
}
template <class Body>
int succeeds(Counted kind, const char* call, Body&& body) {
  return guarded(kind, call, -1, [&] {
    body();
    return 0;
  });
}

}  // namespace sheaf::sfio

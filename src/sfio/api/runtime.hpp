// sfio/api/runtime: the session of this task: its communicators, its link to the listeners and its listener
// thread. A process has at most one session. sfio_start() creates it, and sfio_stop() or MPI_Finalize ends
// it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/non_copyable.hpp"
#include "base/report/guard.hpp"
#include "comm/collective_call.hpp"
#include "comm/comm.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_messages.hpp"
#include "sfio/api/refused.hpp"
#include "sfio/api/shared_session.hpp"
#include "sfio/session/session.hpp"

namespace sheaf::sfio {

class Runtime : private NonCopyable {
 public:
  // Starts a session; see sfio_start(). On a listener task, serves requests and returns when the session has
  // ended. Collective over `all`. Throws on all tasks or on none.
  static void start(MPI_Comm all, const char* how);

  // Ends the session. Collective over the compute tasks.
  static void stop();

  // Returns the session; null on a listener task and while no session runs.
  static Runtime* current();

  // Returns the session, or starts one over MPI_COMM_WORLD if none is running. Collective if it starts one.
  // Throws like start().
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

  int64_t number_ = 0;  // sequence number of this session in the process
  MPI_Comm compute_ = MPI_COMM_NULL;
  std::unique_ptr<Comm> comm_;  // compute tasks
  std::unique_ptr<MpiMessages> messages_;
  std::shared_ptr<Link> link_;
  SessionOptions options_;
  // Files of the listener; relative paths are independent of the program's later directory changes.
  const std::shared_ptr<Store> files_;
  std::unique_ptr<Service> service_;
  std::thread thread_;
  std::atomic<bool> given_up_{false};  // the listener thread must end without the message that stops it
};

// Reports an error of a call and sets errno. Identifies the task by its number among the compute tasks.
void report_error(const char* call, const std::exception& error);

// Runs the body of a call and returns its result, or `failure` after an error; a body without a result
// returns 0. If the call fails, merror() counts it under `kind`, if there is one.
template <class Result, class Body>
Result guarded(std::optional<Counted> kind, const char* call, Result failure, Body&& body) {
  return run_guarded(0, body, [&](const std::exception& error) {
    if (kind) count_refused(*kind, error);
    report_error(call, error);
    return failure;
  });
}

// Returns the job end of the compute tasks; without a session, that of the tasks that a call starts one on.
// Local.
inline JobEnd session_job_end() {
  Runtime* const session = Runtime::current();
  return session ? session->comm().job_end() : mpi_job_end(MPI_COMM_WORLD);
}

// Runs the body of a collective call as guarded() does. If it runs out of memory and the tasks cannot agree
// on that, ends the job (comm/collective_call).
template <class Result, class Body>
Result guarded_together(std::optional<Counted> kind, const char* call, Result failure, Body&& body) {
  return guarded(kind, call, failure, [&] { return collective_call(session_job_end(), call, body); });
}

}  // namespace sheaf::sfio

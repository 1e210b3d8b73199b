// mpiio/api/requests/worker: a thread that runs the jobs of nonblocking calls in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sheaf::mpiio {

class Worker {
 public:
  Worker();
  // Runs the remaining jobs and joins the thread.
  ~Worker();

  // Enqueues a job, which must not throw. Thread-safe.
  void add(std::function<void()> job);
  // Blocks until all jobs have run.
  void drain();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;  // last member, because it uses the others
};

// Returns the worker for noncollective nonblocking calls. Lives until exit.
Worker& independent_worker();
// Blocks until all jobs of independent_worker() have run, if it exists.
void drain_independent_worker();

}  // namespace sheaf::mpiio

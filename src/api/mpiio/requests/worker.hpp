// api/mpiio/requests/worker: a thread that carries out what nonblocking calls have begun, one job after the
// other.
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
  // Carries out what is still to be done and ends.
  ~Worker();

  // For any thread. Jobs do not throw.
  void add(std::function<void()> job);
  // Returns when nothing is left to be done.
  void drain();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;  // the last member: it uses the others
};

// The one for nonblocking calls that no other task takes part in. Lives until exit.
Worker& independent_worker();
// Returns when nothing is left to be done there, if there is one.
void drain_independent_worker();

}  // namespace sheaf::mpiio

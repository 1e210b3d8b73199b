// exchange/transfer/request_thread: carries out the file requests of an aggregator beside its messages.
//
// MPI transfers most messages only while the task is inside an MPI call. A task that waits for the file
// system moves no messages, so requests and messages would take turns. This class carries out the requests in
// a thread, in order, one at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/non_copyable.hpp"

namespace sheaf::exchange {

class RequestThread : private NonCopyable {
 public:
  // `request(number)` carries out a request and must not throw. It must outlive this object. If
  // `is_concurrent` is false, or if no thread can be started, begin() carries out each request itself.
  template <class Request>
  RequestThread(bool is_concurrent, const Request& request) : request_(std::cref(request)) {
    if (is_concurrent) start();
  }
  // Waits for all requests that have begun.
  ~RequestThread();

  // Returns true if begin() returns before the request is complete.
  bool is_concurrent() const { return thread_.joinable(); }
  // Begins the next request. Requests are numbered from 0. Does not throw.
  void begin();
  // Blocks until the first `least` requests are complete; they must have begun. Then calls finish(number), in
  // order, for each complete request that no earlier call has finished.
  template <class Finish>
  void finish(int64_t least, Finish finish) {
    for (const int64_t complete = await(least); finished_ < complete; ++finished_) finish(finished_);
  }

 private:
  int64_t await(int64_t least);
  void start();
  void serve();

  const std::function<void(int64_t)> request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t begun_ = 0;     // number of requests that have begun
  int64_t complete_ = 0;  // number of requests that are complete
  int64_t finished_ = 0;  // number of requests for which finish() has been called; not used by the thread
  bool ends_ = false;
  std::thread thread_;  // last member, because it uses the others
};

}  // namespace sheaf::exchange

#include "exchange/transfer/request_thread.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/service_thread.hpp"

namespace sheaf::exchange {

void RequestThread::start() {
  // Without a thread, begin() carries out the requests.
  const auto no_thread = attempt([this] { thread_ = service_thread([this] { serve(); }); });
  SHEAF_ASSERT(no_thread.has_value() != thread_.joinable());
}

RequestThread::~RequestThread() {
  if (!is_concurrent()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RequestThread::begin() {
  if (!is_concurrent()) {
    request_(begun_++);
    complete_ = begun_;
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++begun_;
  }
  changed_.notify_all();
}

// Returns the number of complete requests.
int64_t RequestThread::await(int64_t least) {
  std::unique_lock lock(mutex_);
  SHEAF_ASSERT(least <= begun_);
  changed_.wait(lock, [&] { return complete_ >= least; });
  return complete_;
}

void RequestThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || complete_ < begun_; });
    if (complete_ == begun_) return;
    lock.unlock();
    request_(complete_);
    lock.lock();
    ++complete_;
    changed_.notify_all();
  }
}

}  // namespace sheaf::exchange

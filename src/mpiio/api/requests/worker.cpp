#include "mpiio/api/requests/worker.hpp"

#include <atomic>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"

namespace sheaf::mpiio {

Worker::Worker() : thread_(service_thread([this] { work(); })) {}

Worker::~Worker() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::add(std::function<void()> job) {
  SHEAF_ASSERT(job);
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Worker::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !busy_; });
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::exchange(jobs_.front(), nullptr);
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

namespace {

std::atomic<Worker*> independent = nullptr;

}  // namespace

Worker& independent_worker() {
  static auto* const one = independent = new Worker;
  return *one;
}

void drain_independent_worker() {
  if (Worker* const one = independent) one->drain();
}

}  // namespace sheaf::mpiio

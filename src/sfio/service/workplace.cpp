#include "sfio/service/workplace.hpp"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/non_copyable.hpp"
#include "base/service_thread.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {
namespace {

class OwnPlace final : public Workplace {
 public:
  void carry_out(const std::function<void()>& job, const std::function<void()>& /*meanwhile*/) override {
    job();
  }
};

// A Workplace with a thread that sleeps on `changed_` until `ends_` is set.
class PlaceWithThread : public Workplace, private NonCopyable {
 public:
 protected:
  PlaceWithThread() = default;
  void start(std::function<void()> work) { thread_ = service_thread(std::move(work)); }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  std::mutex mutex_;  // guards the following members and those of derived classes
  std::condition_variable changed_;
  bool ends_ = false;

 private:
  std::thread thread_;
};

class GuardedPlace final : public PlaceWithThread {
 public:
  GuardedPlace() {
    start([this] { guard(); });
  }
  ~GuardedPlace() override { end(); }

  void carry_out(const std::function<void()>& job, const std::function<void()>& meanwhile) override {
    set(&meanwhile);
    try {
      job();
    } catch (...) {
      set(nullptr);
      throw;
    }
    set(nullptr);
  }

 private:
  // Sets the callback. Waits until a call of the former one has returned.
  void set(const std::function<void()>* meanwhile) {
    const std::lock_guard lock(mutex_);
    meanwhile_ = meanwhile;
    ++changes_;
  }

  void guard() {
    std::unique_lock lock(mutex_);
    for (int64_t seen = changes_; !changed_.wait_for(lock, pulse_pause, [this] { return ends_; });) {
      if (meanwhile_ && changes_ == seen) (*meanwhile_)();
      seen = changes_;
    }
  }

  const std::function<void()>* meanwhile_ = nullptr;  // callback of the running job; null: no job
  int64_t changes_ = 0;
};

class ThreadPlace final : public PlaceWithThread {
 public:
  ThreadPlace() {
    start([this] { work(); });
  }
  ~ThreadPlace() override { end(); }

  void carry_out(const std::function<void()>& job, const std::function<void()>& meanwhile) override {
    std::packaged_task<void()> task([&] { job(); });
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      job_ = std::move(task);
    }
    changed_.notify_one();
    while (done.wait_for(pulse_pause) != std::future_status::ready) meanwhile();
    done.get();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_.valid() || ends_; });
      if (!job_.valid()) return;
      std::packaged_task<void()> task = std::move(job_);
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::packaged_task<void()> job_;
};

template <class Place>
std::unique_ptr<Workplace> place_with_thread() {
  try {
    return std::make_unique<Place>();
  } catch (const std::system_error&) {
    return own_place();
  }
}

}  // namespace

std::unique_ptr<Workplace> own_place() { return std::make_unique<OwnPlace>(); }
std::unique_ptr<Workplace> guarded_place() { return place_with_thread<GuardedPlace>(); }
std::unique_ptr<Workplace> thread_place() { return place_with_thread<ThreadPlace>(); }

}  // namespace sheaf::sfio

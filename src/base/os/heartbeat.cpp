#include "base/os/heartbeat.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"

namespace sheaf {

using BeatClock = std::chrono::steady_clock;

struct Heartbeat::HeartbeatCall {
  std::chrono::milliseconds interval{};
  std::function<void()> beat;
  BeatClock::time_point due;
  bool at_work = false;
};

namespace {

constexpr size_t stack_bytes = 256 << 10;
constexpr std::chrono::seconds max_wait{2};
constexpr std::chrono::milliseconds max_end{200};

class Thread {
 public:
  // Adds a call. Returns false if the thread cannot be created.
  bool add(const std::shared_ptr<Heartbeat::HeartbeatCall>& call) {
    const std::lock_guard lock(mutex_);
    if (!begin()) return false;
    calls_.push_back(call);
    changed_.notify_all();
    return true;
  }

  void remove(const std::shared_ptr<Heartbeat::HeartbeatCall>& call) {
    std::unique_lock lock(mutex_);
    calls_.remove(call);
    changed_.wait_for(lock, max_wait, [&] { return !call->at_work; });
  }

  // Stops the thread at the end of the process or when the library is unloaded. Does not wait longer than
  // max_end for a call that hangs.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (!runs_) return;
      ends_ = true;
      changed_.notify_all();
    }
    const auto until = std::chrono::system_clock::now().time_since_epoch() + max_end;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(until);
    const timespec time{seconds.count(), std::chrono::nanoseconds(until - seconds).count()};
    ::pthread_timedjoin_np(thread_, nullptr, &time);
  }

  void before_fork() { mutex_.lock(); }
  void behind_fork() { mutex_.unlock(); }
  void in_child() {
    for (const auto& call : calls_) call->at_work = false;
  }

 private:
  // Starts the thread unless it runs. The caller holds the mutex. Returns false if the thread cannot be
  // created.
  bool begin() {
    pthread_attr_t small;
    ::pthread_attr_init(&small);
    ::pthread_attr_setstacksize(&small, stack_bytes);
    const auto body = [](void* self) -> void* {
      static_cast<Thread*>(self)->run();
      return nullptr;
    };
    const SignalsBlocked blocked;
    // Falls back to the default stack size if the program's thread-local data need more.
    for (const pthread_attr_t* const how :
         {&std::as_const(small), static_cast<const pthread_attr_t*>(nullptr)})
      runs_ = runs_ || ::pthread_create(&thread_, how, body, this) == 0;
    ::pthread_attr_destroy(&small);
    return runs_;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      const auto next = std::ranges::min_element(calls_, {}, [](const auto& call) { return call->due; });
      if (next == calls_.end()) {
        changed_.wait(lock);
      } else if (const BeatClock::time_point due = (*next)->due; due > BeatClock::now()) {
        changed_.wait_until(lock, due);  // `due` is a copy, because the call may be destroyed during the wait
      } else {
        make(*next, lock);
      }
    }
  }

  void make(std::shared_ptr<Heartbeat::HeartbeatCall> call, std::unique_lock<std::mutex>& lock) {
    call->at_work = true;
    lock.unlock();
    try {
      call->beat();
    } catch (const std::exception&) {
      // Ignored; the next call may succeed.
    }
    lock.lock();
    call->at_work = false;
    call->due = BeatClock::now() + call->interval;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Heartbeat::HeartbeatCall>> calls_;
  pthread_t thread_{};
  bool runs_ = false;
  bool ends_ = false;
};

// Never destroyed, because destructors that run late may still use it.
std::atomic<Thread*> the_thread{nullptr};

struct AtExit {
  ~AtExit() { the_thread.load()->end(); }
};

Thread& thread_of_process() {
  [[maybe_unused]] static const AtExit at_exit = [] {
    the_thread = new Thread;
    // A child creates a new one, because the old one may have waiters or a locked mutex, and their threads do
    // not exist in the child.
    ::pthread_atfork([] { the_thread.load()->before_fork(); }, [] { the_thread.load()->behind_fork(); },
                     [] {
                       the_thread.load()->in_child();
                       the_thread = new Thread;
                     });
    return AtExit{};
  }();
  return *the_thread.load();
}

}  // namespace

std::unique_ptr<Heartbeat> Heartbeat::start(std::chrono::milliseconds first,
                                            std::chrono::milliseconds interval, std::function<void()> beat) {
  SHEAF_ASSERT(first.count() >= 0 && interval.count() > 0 && beat);
  // Allocates the object before the thread gets the call. If the allocation failed afterwards, no destructor
  // would remove the call.
  std::unique_ptr<Heartbeat> started(new Heartbeat(
      std::make_shared<HeartbeatCall>(HeartbeatCall{interval, std::move(beat), BeatClock::now() + first})));
  if (!thread_of_process().add(started->call_)) return nullptr;
  return started;
}

// Does nothing if no thread was ever created, for example for lack of memory.
Heartbeat::~Heartbeat() {
  if (Thread* const thread = the_thread.load()) thread->remove(call_);
}

}  // namespace sheaf

#include "process/heartbeat.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

#include "base/quiet_thread.hpp"

namespace sheaf {

using Clock = std::chrono::steady_clock;

struct Heartbeat::Call {
  std::chrono::milliseconds interval{};
  std::function<void()> beat;
  Clock::time_point due;
  bool at_work = false;
};

namespace {

constexpr size_t stack_bytes = 256 << 10;
constexpr std::chrono::seconds most_wait{2};
constexpr std::chrono::milliseconds longest_end{200};

class Thread {
 public:
  // False if there can be no thread.
  bool add(const std::shared_ptr<Heartbeat::Call>& call) {
    const std::lock_guard lock(mutex_);
    if (!begin()) return false;
    calls_.push_back(call);
    changed_.notify_all();
    return true;
  }

  void remove(const std::shared_ptr<Heartbeat::Call>& call) {
    std::unique_lock lock(mutex_);
    calls_.remove(call);
    changed_.wait_for(lock, most_wait, [&] { return !call->at_work; });
  }

  // At the end of the process, or when the library is unloaded. A call that hangs is left to itself.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (!runs_) return;
      ends_ = true;
      changed_.notify_all();
    }
    const auto until = std::chrono::system_clock::now().time_since_epoch() + longest_end;
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
  // The caller holds the mutex. False if there can be no thread.
  bool begin() {
    pthread_attr_t small;
    ::pthread_attr_init(&small);
    ::pthread_attr_setstacksize(&small, stack_bytes);
    const auto body = [](void* self) -> void* {
      static_cast<Thread*>(self)->run();
      return nullptr;
    };
    const SignalsBlocked blocked;
    // The default where thread-local data of the program need more.
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
      } else if (const Clock::time_point due = (*next)->due; due > Clock::now()) {
        changed_.wait_until(lock, due);  // a copy: the call may be gone when this looks at the time again
      } else {
        make(*next, lock);
      }
    }
  }

  void make(std::shared_ptr<Heartbeat::Call> call, std::unique_lock<std::mutex>& lock) {
    call->at_work = true;
    lock.unlock();
    try {
      call->beat();
    } catch (const std::exception&) {
      // The next one may do better.
    }
    lock.lock();
    call->at_work = false;
    call->due = Clock::now() + call->interval;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Heartbeat::Call>> calls_;
  pthread_t thread_{};
  bool runs_ = false;
  bool ends_ = false;
};

// Never destroyed: whoever ends late may still ask.
std::atomic<Thread*> the_thread{nullptr};

struct AtExit {
  ~AtExit() { the_thread.load()->end(); }
};

Thread& thread_of_process() {
  [[maybe_unused]] static const AtExit at_exit = [] {
    the_thread = new Thread;
    // A child takes another one, as nobody is left who would wake up what waits in the old one, or unlock it.
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
  // Before the thread has the call: without memory for the object nothing would end it.
  std::unique_ptr<Heartbeat> started(
      new Heartbeat(std::make_shared<Call>(Call{interval, std::move(beat), Clock::now() + first})));
  if (!thread_of_process().add(started->call_)) return nullptr;
  return started;
}

// Without a thread, which may be for want of memory, there is nothing to remove.
Heartbeat::~Heartbeat() {
  if (Thread* const thread = the_thread.load()) thread->remove(call_);
}

}  // namespace sheaf

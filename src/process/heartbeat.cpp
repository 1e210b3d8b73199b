#include "process/heartbeat.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <list>
#include <mutex>

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

class Thread {
 public:
  void add(const std::shared_ptr<Heartbeat::Call>& call) {
    const std::lock_guard lock(mutex_);
    if (!runs_ && !begin()) return;
    calls_.push_back(call);
    changed_.notify_all();
  }

  bool has(const std::shared_ptr<Heartbeat::Call>& call) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(calls_, call) != calls_.end();
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
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    constexpr long billion = 1'000'000'000;
    until.tv_nsec += billion / 5;
    until.tv_sec += until.tv_nsec / billion;
    until.tv_nsec %= billion;
    ::pthread_timedjoin_np(thread_, nullptr, &until);
  }

  void before_fork() { mutex_.lock(); }
  void behind_fork() { mutex_.unlock(); }
  void in_child() {
    for (const auto& call : calls_) call->at_work = false;
  }

 private:
  // The caller holds the mutex.
  bool begin() {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const auto run = [](void* self) -> void* { return static_cast<Thread*>(self)->run(); };
    runs_ = ::pthread_create(&thread_, &attributes, run, this) == 0;
    if (!runs_)
      runs_ = ::pthread_create(&thread_, nullptr, run, this) ==
              0;  // where the program's thread-local data need more
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    return runs_;
  }

  void* run() {
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
    return nullptr;
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
  static const AtExit at_exit = [] {
    the_thread = new Thread;
    // A child takes another one, as nobody is left who would wake up what waits in the old one, or unlock it.
    ::pthread_atfork([] { the_thread.load()->before_fork(); }, [] { the_thread.load()->behind_fork(); },
                     [] {
                       the_thread.load()->in_child();
                       the_thread = new Thread;
                     });
    return AtExit{};
  }();
  static_cast<void>(at_exit);
  return *the_thread.load();
}

}  // namespace

std::unique_ptr<Heartbeat> Heartbeat::start(std::chrono::milliseconds first,
                                            std::chrono::milliseconds interval, std::function<void()> beat) {
  const auto call = std::make_shared<Call>();
  call->interval = interval;
  call->beat = std::move(beat);
  call->due = Clock::now() + first;
  thread_of_process().add(call);
  return thread_of_process().has(call) ? std::unique_ptr<Heartbeat>(new Heartbeat(call)) : nullptr;
}

Heartbeat::~Heartbeat() { thread_of_process().remove(call_); }

}  // namespace sheaf

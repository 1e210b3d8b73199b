// support/fibers/fiber_scheduler: starts, switches and ends the fibers of one run. Private to fiber_comm.cpp.
//
// A waiting fiber jumps directly to the next ready one. Control returns to the thread's own stack only if no
// fiber is ready: all have ended, or there is a deadlock.
#pragma once

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "comm/comm.hpp"
#include "support/fibers/fiber_stacks.hpp"
#include "support/fibers/fiber_traffic.hpp"
#include "support/fibers/fiber_tsan.hpp"

namespace sheaf::fibers {

inline constexpr int nobody = -1;  // the thread's own stack

// State of a task besides its stack. One cache line, because a million tasks exceed every cache.
struct alignas(64) FiberTask {
  void* context = nullptr;          // saved context; null before the task starts
  const void* waits_for = nullptr;  // a group or slot; null if the task does not wait
  const char* operation = nullptr;  // call in which the task waits
  const std::byte* data = nullptr;  // contribution of the task to that group
  int64_t length = 0;
  Traffic traffic;
};

// A ring of task numbers; each occurs at most once.
class ReadyTasks {
 public:
  ReadyTasks(int capacity, uint64_t seed) : ring_(static_cast<size_t>(capacity)), random_(seed) {}

  bool empty() const { return count_ == 0; }

  void push(int task) {
    const size_t end = head_ + count_++;
    ring_[end < ring_.size() ? end : end - ring_.size()] = task;
  }

  int pop() {
    if (random_ != 0) std::swap(ring_[head_], ring_[ahead(draw(count_))]);
    const int task = ring_[head_];
    head_ = ahead(1);
    --count_;
    return task;
  }

 private:
  size_t ahead(size_t distance) const {
    const size_t place = head_ + distance;
    return place < ring_.size() ? place : place - ring_.size();
  }

  // Returns a number below bound < 2^32. xorshift64: cheap, state never 0.
  size_t draw(size_t bound) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (random_ >> 32) * bound >> 32;
  }

  std::vector<int> ring_;
  size_t head_ = 0;
  size_t count_ = 0;
  uint64_t random_;
};

class Scheduler {
 public:
  Scheduler(int tasks, size_t stack_bytes, uint64_t seed, std::function<void(int task)> body)
      : tasks_(static_cast<size_t>(tasks)),
        outcomes_(static_cast<size_t>(tasks)),
        ready_(tasks, seed),
        stacks_(tasks, stack_bytes),
        watched_(tasks),
        body_(std::move(body)),
        unfinished_(tasks) {
    for (int task = 0; task < tasks; ++task) ready_.push(task);
  }

  // Runs the ready tasks until none is left. Returns whether all tasks have ended. Must be called on the
  // thread's own stack.
  bool run() {
    switch_from(nobody);
    return unfinished_ == 0;
  }

  // Ends all waiting: from now on, calls that wait, or are about to wait, throw `why`.
  void fail(std::exception_ptr why) {
    failure_ = std::move(why);
    for (int task = 0; task < std::ssize(tasks_); ++task)
      if (tasks_[static_cast<size_t>(task)].waits_for) wake(task);
  }

  // Suspends the running task until another task wakes it.
  void wait(const void* group, const char* operation) {
    throw_failure();
    FiberTask& task = tasks_[static_cast<size_t>(running_)];
    task.waits_for = group;
    task.operation = operation;
    switch_from(running_);
    throw_failure();
  }

  void wake(int task) {
    tasks_[static_cast<size_t>(task)].waits_for = nullptr;
    ready_.push(task);
  }

  // Switches to the next ready task. The running task must be in the queue of ready tasks as well.
  void pause() { switch_from(running_); }

  // Lets other ready tasks run before the running task resumes.
  void yield() {
    ready_.push(running_);
    pause();
  }

  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  FiberTask& task(int number) { return tasks_[static_cast<size_t>(number)]; }
  const std::vector<FiberTask>& tasks() const { return tasks_; }
  std::vector<std::exception_ptr>& outcomes() { return outcomes_; }
  bool is_running() const { return running_ != nobody; }
  int running() const { return running_; }
  int64_t switches() const { return switches_; }
  size_t stack_bytes() const { return stacks_.each(); }

 private:
  // State of the C++ runtime about exceptions in flight. The runtime keeps it per thread; each fiber needs
  // its own.
  struct Exceptions {
    void* caught = nullptr;
    unsigned uncaught = 0;

    static Exceptions save() {
      Exceptions state;
      std::memcpy(static_cast<void*>(&state), abi::__cxa_get_globals(), sizeof state);
      return state;
    }
    void restore() const { std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), this, sizeof *this); }
  };

  void switch_from(int task) {
    const int next = ready_.empty() ? nobody : ready_.pop();
    if (next == task) return;
    const Exceptions exceptions = Exceptions::save();
#ifdef SHEAF_FIBER_ASAN
    void* fake_stack = nullptr;
    announce(&fake_stack, next);
#endif
    jump(task, next);
#ifdef SHEAF_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    exceptions.restore();
  }

  void jump(int from, int to) {
    left_ = from;
    running_ = to;
    void* context = own_context_;
    if (to != nobody) {
      ++switches_;
      FiberTask& next = tasks_[static_cast<size_t>(to)];
      if (next.context == nullptr) start(to);
      context = next.context;
    }
    watched_.switch_to(to);
    arrived(boost::context::detail::jump_fcontext(context, this).fctx);
  }

  // Every fiber calls this function first after a jump to its stack. Saves the context of the previous fiber.
  void arrived(void* context) {
    if (left_ == nobody) {
      own_context_ = context;
      return;
    }
    stacks_.check(left_, context);
    tasks_[static_cast<size_t>(left_)].context = context;
  }

  void start(int task) {
    stacks_.set_canary(task);
    tasks_[static_cast<size_t>(task)].context =
        boost::context::detail::make_fcontext(stacks_.top(task), stacks_.usable(task), &entry);
  }

  static void entry(boost::context::detail::transfer_t from) {
    auto& scheduler = *static_cast<Scheduler*>(from.data);
#ifdef SHEAF_FIBER_ASAN
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (scheduler.left_ == nobody) scheduler.own_stack_ = {bottom, bytes};
#endif
    scheduler.arrived(from.fctx);
    Exceptions().restore();
    scheduler.live();
  }

  void live() {
    const int task = running_;
    try {
      body_(task);
    } catch (...) {
      outcomes_[static_cast<size_t>(task)] = std::current_exception();
    }
    --unfinished_;
    const int next = ready_.empty() ? nobody : ready_.pop();
#ifdef SHEAF_FIBER_ASAN
    announce(nullptr, next);
#endif
    jump(task, next);  // no fiber ever jumps back
    std::abort();
  }

#ifdef SHEAF_FIBER_ASAN
  void announce(void** fake_stack, int next) const {
    if (next == nobody)
      return __sanitizer_start_switch_fiber(fake_stack, own_stack_.first, own_stack_.second);
    __sanitizer_start_switch_fiber(fake_stack, stacks_.bottom(next), stacks_.usable(next));
  }
  std::pair<const void*, size_t> own_stack_;
#endif

  std::vector<FiberTask> tasks_;
  std::vector<std::exception_ptr> outcomes_;
  ReadyTasks ready_;
  Stacks stacks_;
  [[no_unique_address]] WatchedFibers watched_;
  std::function<void(int)> body_;
  std::exception_ptr failure_;
  void* own_context_ = nullptr;
  int running_ = nobody;
  int left_ = nobody;
  int unfinished_;
  int64_t switches_ = 0;
};

}  // namespace sheaf::fibers

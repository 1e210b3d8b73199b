// comm/barrier_protocol: the protocol of the barrier in shared memory (comm/shm_barrier). Each step makes one
// access to shared memory, so that a test can run all interleavings (tests/comm/barrier_protocol_test).
//
// Every task writes its contribution into a slot, arrives, and continues once all have arrived. Shared words:
//
//   come      tasks that have arrived at the current barrier; each adds 1, the last one resets it to 0
//   meetings  barriers completed; the last task increments it after it reset `come`, then wakes the tasks
//             that sleep on it
//   too_long  two counters, for even and odd barriers, of contributions that exceed a slot; the last task
//             resets the counter of the next barrier to 0
//
// Two sets of slots alternate. A task that writes for barrier n has seen all tasks arrive at barrier n - 1.
// All tasks have therefore left barrier n - 2, the last one that used the same slots. All accesses are
// sequentially consistent: a task that sees a completed barrier also sees the contributions.
#pragma once

#include <cstdint>

namespace sheaf {

template <class Word>
class MeetingSteps {
 public:
  enum class ActionKind : uint8_t {
    go_on,
    bring,  // write the contribution into the slot of barrier number()
    sleep,  // while meetings equals number()
    wake,   // the tasks that sleep on meetings
    leave   // all tasks have arrived; contributions may be read until the next `bring`
  };

  // `Words` provides come(), meetings(), too_long(meeting) and size() in tasks. `fits`: the contribution does
  // not exceed a slot.
  template <class Words>
  ActionKind step(Words& words, bool fits) {
    switch (at_) {
      case At::begin:
        at_ = fits ? At::come : At::refuse;
        return ActionKind::bring;
      case At::refuse:
        words.too_long(number_).fetch_add(1);
        at_ = At::come;
        return ActionKind::go_on;
      case At::come:
        at_ = words.come().fetch_add(1) + 1 == words.size() ? At::empty : At::wait;
        return ActionKind::go_on;
      case At::empty:
        words.come().store(0);
        at_ = At::forget;
        return ActionKind::go_on;
      case At::forget:
        words.too_long(number_ + 1).store(0);
        at_ = At::end;
        return ActionKind::go_on;
      case At::end:
        words.meetings().store(number_ + 1);
        at_ = At::wait;
        return ActionKind::wake;
      default:
        if (words.meetings().load() == number_) return ActionKind::sleep;
        at_ = At::begin;
        ++number_;
        return ActionKind::leave;
    }
  }

  // Returns true if this task has arrived and waits for the other tasks.
  bool waits() const { return at_ == At::wait; }
  // Returns the number of the current barrier or, between barriers, of the next one.
  uint32_t number() const { return number_; }
  // Completes the current barrier without another step. The caller must know that all tasks have arrived.
  void go_on() {
    if (waits()) ++number_;
    at_ = At::begin;
  }

 private:
  enum class At : uint8_t { begin, refuse, come, empty, forget, end, wait };

  At at_ = At::begin;
  uint32_t number_ = 0;
};

}  // namespace sheaf

// comm/barrier_protocol: the protocol of the barrier in shared memory (comm/shm_barrier). Each step makes one
// access to shared memory, so that a test can run all interleavings (tests/comm/barrier_protocol_test).
//
// Every task writes its contribution into a slot, arrives, and continues once all have arrived. Shared words:
//
//   arrive    tasks that have arrived at the current barrier; each adds 1, the last one resets it to 0
//   barriers  barriers completed; the last task increments it after it reset `arrive`, then wakes the tasks
//             that sleep on it
//   too_long  two counters, for even and odd barriers, of contributions that exceed a slot; the last task
//             resets the counter of the next barrier to 0
//
// Two sets of slots alternate. A task that writes for barrier n has seen all tasks arrive at barrier n - 1.
// All tasks have therefore left barrier n - 2, the last one that used the same slots. All accesses are
// sequentially consistent: a task that sees a completed barrier also sees the contributions.
#pragma once

#include <cstdint>

#include "base/assert.hpp"

namespace sheaf {

template <class Word>
class BarrierProtocol {
 public:
  enum class BarrierAction : uint8_t {
    none,
    post,   // write the contribution into the slot of barrier number()
    sleep,  // while barriers equals number()
    wake,   // the tasks that sleep on barriers
    done    // all tasks have arrived; contributions may be read until the next `post`
  };

  // `Words` provides arrive(), barriers(), too_long(barrier) and size() in tasks. `fits`: the contribution
  // does not exceed a slot.
  template <class Words>
  BarrierAction step(Words& words, bool fits) {
    switch (at_) {
      case BarrierPhase::start:
        at_ = fits ? BarrierPhase::arrival : BarrierPhase::overflow;
        return BarrierAction::post;
      case BarrierPhase::overflow:
        words.too_long(number_).fetch_add(1);
        at_ = BarrierPhase::arrival;
        return BarrierAction::none;
      case BarrierPhase::arrival:
        at_ = words.arrive().fetch_add(1) + 1 == words.size() ? BarrierPhase::arrival_reset
                                                              : BarrierPhase::wait;
        SHEAF_DEBUG_ASSERT(words.arrive().load() <= words.size());
        return BarrierAction::none;
      case BarrierPhase::arrival_reset:
        SHEAF_DEBUG_ASSERT(words.arrive().load() == words.size());  // this task was the last one
        words.arrive().store(0);
        at_ = BarrierPhase::overflow_reset;
        return BarrierAction::none;
      case BarrierPhase::overflow_reset:
        words.too_long(number_ + 1).store(0);
        at_ = BarrierPhase::completion;
        return BarrierAction::none;
      case BarrierPhase::completion:
        words.barriers().store(number_ + 1);
        at_ = BarrierPhase::wait;
        return BarrierAction::wake;
      default:
        SHEAF_ASSERT(waits());
        if (words.barriers().load() == number_) return BarrierAction::sleep;
        SHEAF_ASSERT(words.barriers().load() == number_ + 1);  // the next one needs this task
        at_ = BarrierPhase::start;
        ++number_;
        return BarrierAction::done;
    }
  }

  // Returns true if this task has arrived and waits for the other tasks.
  bool waits() const { return at_ == BarrierPhase::wait; }
  // Returns the number of the current barrier or, between barriers, of the next one.
  uint32_t number() const { return number_; }
  // Completes the current barrier without another step. The caller must know that all tasks have arrived.
  void go_on() {
    SHEAF_ASSERT(waits() || at_ == BarrierPhase::start);
    if (waits()) ++number_;
    at_ = BarrierPhase::start;
  }

 private:
  enum class BarrierPhase : uint8_t {
    start,
    overflow,
    arrival,
    arrival_reset,
    overflow_reset,
    completion,
    wait
  };

  BarrierPhase at_ = BarrierPhase::start;
  uint32_t number_ = 0;
};

}  // namespace sheaf

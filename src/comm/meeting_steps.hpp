// comm/meeting_steps: how tasks that share memory meet (comm/shared_meeting), one access to shared memory per step, so that a test can
// run all interleavings (tests/comm/meeting_steps_test).
//
// Every task lays its contribution into a slot, comes, and goes on when all have come. Words in shared memory:
//
//   come      tasks at the meeting that is going on: each +1; the last one sets it to 0
//   meetings  how many are over: the last one +1, after it has set `come` and before it wakes the others, who sleep on it
//   too_long  two, for even and odd meetings: contributions without room in a slot; the last one sets that of the next meeting to 0
//
// Two sets of slots take turns: whoever writes for a meeting has seen all come to the last one, hence leave the one before, whose slots
// these were. Counting is acquire and release, so that contributions are seen by who has seen the meeting to be over.
#pragma once

#include <cstdint>

namespace sheaf {

template <class Word>
class MeetingSteps {
 public:
  enum class Do : uint8_t {
    go_on,
    bring,  // lay the contribution into the slot of meeting number()
    sleep,  // as long as meetings is number()
    wake,   // who sleep on meetings
    leave   // all have come; contributions may be read until the next bring
  };

  // `Words`: come(), meetings(), too_long(meeting), size() tasks. `fits`: the contribution has room in a slot.
  template <class Words>
  Do step(Words& words, bool fits) {
    switch (at_) {
      case At::begin: at_ = fits ? At::come : At::refuse; return Do::bring;
      case At::refuse:
        words.too_long(number_).fetch_add(1);
        at_ = At::come;
        return Do::go_on;
      case At::come: at_ = words.come().fetch_add(1) + 1 == words.size() ? At::empty : At::wait; return Do::go_on;
      case At::empty:
        words.come().store(0);
        at_ = At::forget;
        return Do::go_on;
      case At::forget:
        words.too_long(number_ + 1).store(0);
        at_ = At::end;
        return Do::go_on;
      case At::end:
        words.meetings().store(number_ + 1);
        at_ = At::wait;
        return Do::wake;
      default:
        if (words.meetings().load() == number_) return Do::sleep;
        at_ = At::begin;
        ++number_;
        return Do::leave;
    }
  }

  // It has come, and waits for the others.
  bool waits() const { return at_ == At::wait; }
  // Of the meeting that is going on, or comes next.
  uint32_t number() const { return number_; }
  // All are known to have come.
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

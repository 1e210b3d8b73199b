// exchange/stage_steps: the protocol of the stage (exchange/stage), one access to shared memory per step, so
// that a test can run all interleavings (tests/exchange/stage_steps_test).
//
// A call works on windows begin..end-1, numbered over all calls; window n goes through slot n mod slots.
// Words in shared memory:
//
//   state of a slot    free_for(n): window n may use it; there(n): window n has been read into it. Changed by
//                      who is done with a window: writing, who has written it; reading, who has read it,
//                      then the last one to take of it.
//   arrived of a slot  tasks that have put, or taken, their part of the window: each +1; 0 before the state
//                      changes.
//   pen                the next window of this pen, and whether somebody holds it. Windows of a pen are
//                      written, or read, one after the other by who holds it.
//
// All accesses are sequentially consistent: who gives a pen back looks at the next window afterwards, who
// fills a window looks at the pen afterwards, so one of them sees the other. Who needs a word to change
// sleeps on it.
//
// What the steps are run on, `Call`, tells of the call, the same on all tasks: begin(), end(), slots(),
// pens(), pen_of(n), due(n) (tasks of the host that have a part of window n; 0 only if windows are kept),
// free_for(n), kept() (windows belong to aggregators, nobody needs a pen), and the words state(n),
// arrived(n), pen(p). A step returns what the task has to do before it takes the next one.
#pragma once

#include <cstdint>
#include <utility>

namespace sheaf::exchange {

enum class Do : uint8_t {
  go_on,     // the next step
  copy,      // its part of window `number`, to the slot or from there
  transfer,  // window `number`, to the file or from there
  sleep,     // as long as `word` is `value`
  wake,      // who sleep on `word`
  leave      // done
};

template <class Word>
struct Act {
  Do what = Do::go_on;
  Word* word = nullptr;
  uint32_t value = 0;
  uint64_t number = 0;
};

// The word of a pen.
struct Pen {
  static uint32_t free_at(uint64_t number) { return static_cast<uint32_t>(number) << 1; }
  static uint32_t held_at(uint64_t number) { return free_at(number) | 1; }
  static bool is_held(uint32_t word) { return (word & 1) != 0; }
  // The first window from there on, or from the begin of the call, behind which pens stay that other calls
  // had, that the pen has.
  template <class Call>
  static uint64_t next(const Call& call, int pen, uint32_t word) {
    const auto ahead = static_cast<int32_t>((word & ~1U) - free_at(call.begin())) / 2;
    return from_on(call, pen, ahead > 0 ? call.begin() + static_cast<uint64_t>(ahead) : call.begin());
  }
  template <class Call>
  static uint64_t from_on(const Call& call, int pen, uint64_t number) {
    while (number < call.end() && call.pen_of(number) != pen) ++number;
    return number;
  }
};

// The word of a slot.
struct SlotState {
  static uint32_t free_for(uint64_t number, int slots) {
    return static_cast<uint32_t>(number / static_cast<uint64_t>(slots)) * 2;
  }
  static uint32_t there(uint32_t free) { return free + 1; }
  static uint32_t done(uint32_t free) { return free + 2; }
};

// What a task knows of its way through the windows of a call. `At`: what it does next.
template <class Word, class At>
class Steps {
 public:
  explicit Steps(uint64_t first) : number_(first) {}

  uint64_t number() const { return number_; }

 protected:
  Act<Word> then(At next, Act<Word> act = {}) {
    at_ = next;
    return act;
  }
  // Before its next own window; in the end only where it need not wait for others.
  template <class Call>
  bool leaves(const Call& call, uint64_t until) const {
    return number_ >= until && (until < call.end() || call.kept());
  }
  // What it knows of pens is old.
  void forget_pens() {
    pen_ = 0;
    window_ = 0;
    word_ = 0;
  }

  uint64_t number_;      // own window that comes next
  uint64_t window_ = 0;  // that a pen has
  uint32_t seen_ = 0;    // of the word to sleep on
  uint32_t word_ = 0;    // of the pen
  int pen_ = 0;
  int waits_for_ = 0;  // pen that is not at the end yet
  At at_{};
};

enum class PutAt : uint8_t {
  look,
  put,
  finish,
  find_pen,
  look_at_slot,
  look_at_arrived,
  claim,
  wrote,
  empty,
  moved
};

// A task that puts its parts of windows. `next_own(n)`: the first window from n on that it has a part of, or
// end().
template <class Word>
class PutSteps : public Steps<Word, PutAt> {
  using At = PutAt;
  using Base = Steps<Word, At>;
  using Base::at_, Base::number_, Base::pen_, Base::seen_, Base::then, Base::waits_for_, Base::window_,
      Base::word_;

 public:
  using Base::Base;

  // `until`: leaves before the first own window from there on; end(): when all windows are written, or at
  // once if they are kept.
  template <class Call, class NextOwn>
  Act<Word> step(Call& call, NextOwn next_own, uint64_t until) {
    switch (at_) {
      case At::look:
        this->forget_pens();
        if (this->leaves(call, until)) return {Do::leave};
        if (number_ >= call.end()) return then(At::finish);
        seen_ = call.state(number_).load();
        if (seen_ != call.free_for(number_)) return then(At::find_pen);
        return then(At::put, {Do::copy, nullptr, 0, number_});
      case At::put: {
        const uint64_t number = std::exchange(number_, next_own(number_ + 1));
        Word& arrived = call.arrived(number);
        at_ = At::look;
        if (arrived.fetch_add(1) + 1 != call.due(number)) return {};
        if (call.kept()) return {Do::wake, &arrived};
        // The last one to come should not write if another one waits: others may wait for its next parts.
        // Nobody does for a slot at first.
        hurries_ = number < call.begin() + call.slots();
        if (hurries_) at_ = At::find_pen;
        return {Do::wake,
                number + call.slots() < call.end() ? &call.state(number) : &call.pen(call.pen_of(number))};
      }
      case At::finish:
        if (waits_for_ == call.pens()) return {Do::leave};
        seen_ = call.pen(waits_for_).load();
        if (Pen::next(call, waits_for_, seen_) == call.end()) {
          ++waits_for_;
          return {};
        }
        pen_ = 0;
        return then(At::find_pen);
      default:
        return write(call);
    }
  }

 private:
  // Writes what is full, by any pen that is free; then sleeps.
  template <class Call>
  Act<Word> write(Call& call) {
    switch (at_) {
      case At::find_pen:
        if (call.kept() || pen_ == call.pens()) return doze(call);
        word_ = call.pen(pen_).load();
        window_ = Pen::next(call, pen_, word_);
        return go_if(!Pen::is_held(word_) && window_ < call.end(), At::look_at_slot);
      case At::look_at_slot:
        return go_if(call.state(window_).load() == call.free_for(window_), At::look_at_arrived);
      case At::look_at_arrived:
        return go_if(call.arrived(window_).load() == call.due(window_), At::claim);
      case At::claim:
        if (!call.pen(pen_).compare_exchange_strong(word_, Pen::held_at(window_))) return then(At::find_pen);
        return then(At::wrote, {Do::transfer, nullptr, 0, window_});
      case At::wrote:
        call.arrived(window_).store(0);
        return then(At::empty);
      case At::empty:
        call.state(window_).store(SlotState::done(call.free_for(window_)));
        return then(At::moved, {Do::wake, &call.state(window_)});
      default:  // moved: given back, and taken again if the next window is full
        window_ = Pen::from_on(call, pen_, window_ + 1);
        call.pen(pen_).store(Pen::free_at(window_));
        if (window_ < call.end()) return then(At::find_pen);
        return then(At::find_pen, {Do::wake, &call.pen(pen_)});
    }
  }
  Act<Word> go_if(bool goes, At at) {
    if (goes) return then(at);
    ++pen_;
    return then(At::find_pen);
  }

  template <class Call>
  Act<Word> doze(Call& call) {
    if (std::exchange(hurries_, false)) return then(At::look);
    if (number_ < call.end()) return then(At::look, {Do::sleep, &call.state(number_), seen_});
    return then(At::finish, {Do::sleep, &call.pen(waits_for_), seen_});
  }

  bool hurries_ = false;  // has parts to put while it looks for a pen
};

enum class TakeAt : uint8_t {
  look,
  find_pen,
  look_at_slot,
  claim,
  have_read,
  move,
  look_ahead,
  give_back,
  take,
  empty,
  freed,
  finish
};

// A task that takes its parts of windows.
template <class Word>
class TakeSteps : public Steps<Word, TakeAt> {
  using At = TakeAt;
  using Base = Steps<Word, At>;
  using Base::at_, Base::number_, Base::pen_, Base::seen_, Base::then, Base::waits_for_, Base::window_,
      Base::word_;

 public:
  using Base::Base;

  // `until`: as for PutSteps, with all windows read. `ahead`: so many windows behind the own one are read if
  // their slots are free, by who has read the own one, and by who waits for it.
  template <class Call, class NextOwn>
  Act<Word> step(Call& call, NextOwn next_own, uint64_t until, uint64_t ahead) {
    switch (at_) {
      case At::look: {
        if (this->leaves(call, until)) return {Do::leave};
        if (number_ >= call.end()) return then(At::finish);
        const uint32_t state = call.state(number_).load();
        if (state == SlotState::there(call.free_for(number_)))
          return then(At::take, {Do::copy, nullptr, 0, number_});
        if (call.kept()) return {Do::sleep, &call.state(number_), state};
        return then(At::find_pen);
      }
      case At::find_pen:
        return find_pen(call, ahead);
      case At::look_at_slot: {
        const uint32_t state = call.state(window_).load();
        const auto early =
            static_cast<int32_t>(call.free_for(window_) - state);  // else others have read it meanwhile
        if (early == 0) return then(At::claim);
        if (tried_ > 0) return try_next();
        if (early < 0) return look_again();
        return look_again({Do::sleep, &call.state(window_), state});
      }
      case At::claim:
        if (!call.pen(pen_).compare_exchange_strong(word_, Pen::held_at(window_))) return look_again();
        return then(At::have_read, {Do::transfer, nullptr, 0, window_});
      case At::have_read:
        call.state(window_).store(SlotState::there(call.free_for(window_)));
        return then(At::move, {Do::wake, &call.state(window_)});
      case At::move:
        window_ = Pen::from_on(call, pen_, window_ + 1);
        call.pen(pen_).store(Pen::held_at(window_));
        return then(At::look_ahead, {Do::wake, &call.pen(pen_)});
      case At::look_ahead:
        if (window_ >= call.end() || window_ > number_ + ahead ||
            call.state(window_).load() != call.free_for(window_))
          return then(At::give_back);
        return then(At::have_read, {Do::transfer, nullptr, 0, window_});
      case At::give_back:
        call.pen(pen_).store(Pen::free_at(window_));
        return look_again({Do::wake, &call.pen(pen_)});
      case At::take:
        window_ = std::exchange(number_, next_own(number_ + 1));
        if (call.arrived(window_).fetch_add(1) + 1 == call.due(window_)) return then(At::empty);
        return look_again();
      case At::empty:
        call.arrived(window_).store(0);
        return then(At::freed);
      case At::freed:
        call.state(window_).store(SlotState::done(call.free_for(window_)));
        return look_again({Do::wake, &call.state(window_)});
      default:  // finish: others read what they need
        if (waits_for_ == call.pens()) return {Do::leave};
        word_ = call.pen(waits_for_).load();
        if (Pen::next(call, waits_for_, word_) != call.end())
          return {Do::sleep, &call.pen(waits_for_), word_};
        ++waits_for_;
        return {};
    }
  }

 private:
  // The pen of the own window; while another task holds that and reads, a free pen of a window that comes
  // soon. Sleeps if there is none.
  template <class Call>
  Act<Word> find_pen(Call& call, uint64_t ahead) {
    const int own = call.pen_of(number_);
    if (tried_ == call.pens()) return look_again({Do::sleep, &call.pen(own), seen_});
    pen_ = (own + tried_) % call.pens();
    word_ = call.pen(pen_).load();
    window_ = Pen::next(call, pen_, word_);
    if (tried_ == 0) {
      seen_ = word_;
      if (window_ > number_) return look_again();  // read meanwhile
    }
    if (Pen::is_held(word_) || window_ >= call.end() || window_ > number_ + ahead) return try_next();
    return then(At::look_at_slot);
  }
  Act<Word> look_again(Act<Word> act = {}) {
    this->forget_pens();
    seen_ = 0;
    tried_ = 0;
    return then(At::look, act);
  }
  Act<Word> try_next() {
    ++tried_;
    return then(At::find_pen);
  }

  int tried_ = 0;  // pens that are of no use now, the own one first
};

}  // namespace sheaf::exchange

// exchange/stage_steps: the protocol of the stage (exchange/stage), one access to shared memory per step, so
// that a test can run all interleavings (tests/exchange/stage_steps_test).
//
// A call works on windows begin..end-1, numbered over all calls; window n goes through slot n mod slots.
// Words in shared memory:
//
//   turn of a slot     free_for(n): window n may use it; there(n): window n has been read into it. Changed by
//                      who is done with a window: writing, who has written it; reading, who has read it,
//                      then the last one to take of it.
//   arrived of a slot  tasks that have put, or taken, their part of the window: each +1; 0 before the turn
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
// free_for(n), kept() (windows belong to aggregators, nobody needs a pen), and the words turn(n), arrived(n),
// pen(p). A step returns what the task has to do before it takes the next one.
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
struct Turn {
  static uint32_t free_for(uint64_t number, int slots) {
    return static_cast<uint32_t>(number / static_cast<uint64_t>(slots)) * 2;
  }
  static uint32_t there(uint32_t free) { return free + 1; }
  static uint32_t done(uint32_t free) { return free + 2; }
};

// A task that puts its parts of windows. `next_own(n)`: the first window from n on that it has a part of, or
// end().
template <class Word>
class PutSteps {
 public:
  explicit PutSteps(uint64_t first) : number_(first) {}

  uint64_t number() const { return number_; }

  // `until`: leaves before the first own window from there on; end(): when all windows are written, or at
  // once if they are kept.
  template <class Call, class NextOwn>
  Act<Word> step(Call& call, NextOwn next_own, uint64_t until) {
    switch (at_) {
      case At::look:
        pen_ = 0;  // what it knows of pens is old
        window_ = 0;
        word_ = 0;
        if (number_ >= until && (until < call.end() || call.kept())) return {Do::leave};
        if (number_ >= call.end()) {
          at_ = At::finish;
          return {};
        }
        seen_ = call.turn(number_).load();
        at_ = seen_ == call.free_for(number_) ? At::put : At::find_pen;
        if (at_ == At::put) return {Do::copy, nullptr, 0, number_};
        return {};
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
                number + call.slots() < call.end() ? &call.turn(number) : &call.pen(call.pen_of(number))};
      }
      case At::finish:
        if (waits_for_ == call.pens()) return {Do::leave};
        seen_ = call.pen(waits_for_).load();
        if (Pen::next(call, waits_for_, seen_) == call.end()) {
          ++waits_for_;
        } else {
          pen_ = 0;
          at_ = At::find_pen;
        }
        return {};
      default:
        return write(call);
    }
  }

 private:
  enum class At : uint8_t {
    look,
    put,
    finish,
    find_pen,
    look_at_turn,
    look_at_arrived,
    claim,
    wrote,
    empty,
    moved
  };

  // Writes what is full, by any pen that is free; then sleeps.
  template <class Call>
  Act<Word> write(Call& call) {
    switch (at_) {
      case At::find_pen:
        if (call.kept() || pen_ == call.pens()) return doze(call);
        word_ = call.pen(pen_).load();
        window_ = Pen::next(call, pen_, word_);
        go_if(!Pen::is_held(word_) && window_ < call.end(), At::look_at_turn);
        return {};
      case At::look_at_turn:
        go_if(call.turn(window_).load() == call.free_for(window_), At::look_at_arrived);
        return {};
      case At::look_at_arrived:
        go_if(call.arrived(window_).load() == call.due(window_), At::claim);
        return {};
      case At::claim:
        at_ = At::find_pen;
        if (!call.pen(pen_).compare_exchange_strong(word_, Pen::held_at(window_))) return {};
        at_ = At::wrote;
        return {Do::transfer, nullptr, 0, window_};
      case At::wrote:
        call.arrived(window_).store(0);
        at_ = At::empty;
        return {};
      case At::empty:
        call.turn(window_).store(Turn::done(call.free_for(window_)));
        at_ = At::moved;
        return {Do::wake, &call.turn(window_)};
      default:  // moved: given back, and taken again if the next window is full
        window_ = Pen::from_on(call, pen_, window_ + 1);
        call.pen(pen_).store(Pen::free_at(window_));
        at_ = At::find_pen;
        if (window_ == call.end()) return {Do::wake, &call.pen(pen_)};
        return {};
    }
  }
  void go_if(bool goes, At at) {
    at_ = goes ? at : At::find_pen;
    if (!goes) ++pen_;
  }

  template <class Call>
  Act<Word> doze(Call& call) {
    if (std::exchange(hurries_, false)) {
      at_ = At::look;
      return {};
    }
    at_ = number_ < call.end() ? At::look : At::finish;
    return {Do::sleep, number_ < call.end() ? &call.turn(number_) : &call.pen(waits_for_), seen_};
  }

  At at_ = At::look;
  uint64_t number_;      // own window that comes next
  uint64_t window_ = 0;  // that a pen has
  uint32_t seen_ = 0;    // of the word to sleep on
  uint32_t word_ = 0;    // of the pen
  int pen_ = 0;
  int waits_for_ = 0;     // pen that is not at the end yet
  bool hurries_ = false;  // has parts to put while it looks for a pen
};

// A task that takes its parts of windows.
template <class Word>
class TakeSteps {
 public:
  explicit TakeSteps(uint64_t first) : number_(first) {}

  uint64_t number() const { return number_; }

  // `until`: as for PutSteps, with all windows read. `ahead`: so many windows behind the own one are read if
  // their slots are free, by who has read the own one, and by who waits for it.
  template <class Call, class NextOwn>
  Act<Word> step(Call& call, NextOwn next_own, uint64_t until, uint64_t ahead) {
    switch (at_) {
      case At::look: {
        if (number_ >= until && (until < call.end() || call.kept())) return {Do::leave};
        if (number_ >= call.end()) {
          at_ = At::finish;
          return {};
        }
        const uint32_t turn = call.turn(number_).load();
        if (turn == Turn::there(call.free_for(number_))) {
          at_ = At::take;
          return {Do::copy, nullptr, 0, number_};
        }
        if (call.kept()) return {Do::sleep, &call.turn(number_), turn};
        at_ = At::find_pen;
        return {};
      }
      case At::find_pen:
        return find_pen(call, ahead);
      case At::look_at_turn: {
        const uint32_t turn = call.turn(window_).load();
        const auto early =
            static_cast<int32_t>(call.free_for(window_) - turn);  // else others have read it meanwhile
        if (early == 0) {
          at_ = At::claim;
          return {};
        }
        if (tried_ > 0) return try_next();
        const Act<Word> act = early > 0 ? Act<Word>{Do::sleep, &call.turn(window_), turn} : Act<Word>{};
        look_again();
        return act;
      }
      case At::claim:
        if (!call.pen(pen_).compare_exchange_strong(word_, Pen::held_at(window_))) {
          look_again();
          return {};
        }
        at_ = At::have_read;
        return {Do::transfer, nullptr, 0, window_};
      case At::have_read:
        call.turn(window_).store(Turn::there(call.free_for(window_)));
        at_ = At::move;
        return {Do::wake, &call.turn(window_)};
      case At::move:
        window_ = Pen::from_on(call, pen_, window_ + 1);
        call.pen(pen_).store(Pen::held_at(window_));
        at_ = At::look_ahead;
        return {Do::wake, &call.pen(pen_)};
      case At::look_ahead:
        at_ = At::give_back;
        if (window_ >= call.end() || window_ > number_ + ahead ||
            call.turn(window_).load() != call.free_for(window_))
          return {};
        at_ = At::have_read;
        return {Do::transfer, nullptr, 0, window_};
      case At::give_back: {
        Word& pen = call.pen(pen_);
        pen.store(Pen::free_at(window_));
        look_again();
        return {Do::wake, &pen};
      }
      case At::take:
        window_ = std::exchange(number_, next_own(number_ + 1));
        if (call.arrived(window_).fetch_add(1) + 1 == call.due(window_)) {
          at_ = At::empty;
        } else {
          look_again();
        }
        return {};
      case At::empty:
        call.arrived(window_).store(0);
        at_ = At::turned;
        return {};
      case At::turned: {
        Word& turn = call.turn(window_);
        turn.store(Turn::done(call.free_for(window_)));
        look_again();
        return {Do::wake, &turn};
      }
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
  enum class At : uint8_t {
    look,
    find_pen,
    look_at_turn,
    claim,
    have_read,
    move,
    look_ahead,
    give_back,
    take,
    empty,
    turned,
    finish
  };

  // The pen of the own window; while another task holds that and reads, a free pen of a window that comes
  // soon. Sleeps if there is none.
  template <class Call>
  Act<Word> find_pen(Call& call, uint64_t ahead) {
    const int own = call.pen_of(number_);
    if (tried_ == call.pens()) {
      const uint32_t seen = seen_;
      look_again();
      return {Do::sleep, &call.pen(own), seen};
    }
    pen_ = (own + tried_) % call.pens();
    word_ = call.pen(pen_).load();
    window_ = Pen::next(call, pen_, word_);
    if (tried_ == 0) {
      seen_ = word_;
      if (window_ > number_) {  // read meanwhile
        look_again();
        return {};
      }
    }
    if (Pen::is_held(word_) || window_ >= call.end() || window_ > number_ + ahead) return try_next();
    at_ = At::look_at_turn;
    return {};
  }
  // What it knows of pens is old.
  void look_again() {
    at_ = At::look;
    window_ = 0;
    word_ = seen_ = 0;
    pen_ = tried_ = 0;
  }
  Act<Word> try_next() {
    ++tried_;
    at_ = At::find_pen;
    return {};
  }

  At at_ = At::look;
  uint64_t number_;
  uint64_t window_ = 0;
  uint32_t word_ = 0;
  uint32_t seen_ = 0;  // of the pen to sleep on
  int pen_ = 0;
  int tried_ = 0;      // pens that are of no use now, the own one first
  int waits_for_ = 0;  // pen that is not at the end yet
};

}  // namespace sheaf::exchange

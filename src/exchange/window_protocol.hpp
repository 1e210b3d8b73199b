// exchange/window_protocol: the window protocol (exchange/shm_window_pool). Each step makes one access to
// shared memory, so that a test can run all interleavings (tests/exchange/window_protocol_test).
//
// A call works on windows begin..end-1, numbered over all calls. Window n uses slot n mod slots. Words in
// shared memory:
//
//   state of a slot    free_for(n): window n may use the slot; there(n): window n has been read into the
//                      slot. In a write, the task that wrote the window changes it. In a read, the task that
//                      read the window changes it, then the last task that unpacks its part.
//   arrived of a slot  number of tasks that have packed, or unpacked, their part of the window; reset to 0
//                      before the state changes.
//   pen                I/O token: the next window of the token and whether a task holds the token. The
//                      holder writes, or reads, the token's windows one by one.
//
// All accesses are sequentially consistent. A task that releases an I/O token checks the token's next window
// afterwards, and a task that fills a window checks the window's token afterwards. So at least one of the two
// tasks sees the change of the other. A task that waits for a word to change sleeps on that word.
//
// The steps run on a `Call`, which is the same on all tasks. It provides begin(), end(), slots(), tokens(),
// token_of(n), free_for(n), the words state(n), arrived(n) and pen(p), and two more functions:
//
//   due(n)             number of the host's tasks that have a part of window n; 0 only if has_aggregators()
//   has_aggregators()             aggregators own the windows, and no task needs an I/O token
//
// A step returns the action that the task must perform before its next step.
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.hpp"

namespace sheaf::exchange {

enum class ActionKind : uint8_t {
  none,      // proceed to the next step
  copy,      // copy this task's part of window `number` to or from the slot
  transfer,  // transfer window `number` to or from the file
  sleep,     // sleep while `word` equals `value`
  wake,      // wake the tasks that sleep on `word`
  done       // finished
};

template <class Word>
struct Action {
  ActionKind what = ActionKind::none;
  Word* word = nullptr;
  uint32_t value = 0;
  uint64_t number = 0;
};

// The word of an I/O token.
struct IoToken {
  static uint32_t free_at(uint64_t number) { return static_cast<uint32_t>(number) << 1; }
  static uint32_t held_at(uint64_t number) { return free_at(number) | 1; }
  static bool is_held(uint32_t word) { return (word & 1) != 0; }
  // Returns the first window of the token at or after the window in `word`. A token last used by an earlier
  // call starts at the beginning of this call.
  template <class Call>
  static uint64_t next(const Call& call, int io_token, uint32_t word) {
    const auto ahead = static_cast<int32_t>((word & ~1U) - free_at(call.begin())) / 2;
    return from_on(call, io_token, ahead > 0 ? call.begin() + static_cast<uint64_t>(ahead) : call.begin());
  }
  template <class Call>
  static uint64_t from_on(const Call& call, int io_token, uint64_t number) {
    SHEAF_DEBUG_ASSERT(io_token >= 0 && io_token < call.tokens());
    while (number < call.end() && call.token_of(number) != io_token) ++number;
    return number;
  }
};

// The word of a slot.
struct WindowSlotState {
  static uint32_t free_for(uint64_t number, int slots) {
    return static_cast<uint32_t>(number / static_cast<uint64_t>(slots)) * 2;
  }
  static uint32_t there(uint32_t free) { return free + 1; }
  static uint32_t done(uint32_t free) { return free + 2; }
};

// State of a task on its way through the windows of a call. `At` is the type of the task's next step.
template <class Word, class At>
class WindowSteps {
 public:
  explicit WindowSteps(uint64_t first) : number_(first) {}

  uint64_t number() const { return number_; }

 protected:
  Action<Word> then(At next, Action<Word> act = {}) {
    at_ = next;
    return act;
  }
  // Returns true if the task leaves before its next own window, because that is at or after `until`. At the
  // end of the call, a task leaves only if aggregators own the windows; otherwise it waits until all windows
  // are transferred.
  template <class Call>
  bool leaves(const Call& call, uint64_t until) const {
    return number_ >= until && (until < call.end() || call.has_aggregators());
  }
  // Discards the cached token state.
  void forget_tokens() {
    token_ = 0;
    window_ = 0;
    word_ = 0;
  }

  uint64_t number_;      // next own window
  uint64_t window_ = 0;  // window of the token
  uint32_t seen_ = 0;    // value of the word to sleep on
  uint32_t word_ = 0;    // value of the token's word
  int token_ = 0;
  int waits_for_ = 0;  // first token that has not reached the end
  At at_{};
};

enum class PackAt : uint8_t {
  own_window,
  arrival,
  completion,
  token_search,
  slot_check,
  arrival_check,
  token_acquisition,
  arrival_reset,
  slot_release,
  token_release
};

// The protocol of a task that packs its parts of windows. `next_own(n)` returns the first window at or after
// n in which the task has a part, or end().
template <class Word>
class PackProtocol : public WindowSteps<Word, PackAt> {
  using At = PackAt;
  using Base = WindowSteps<Word, At>;
  using Base::at_, Base::number_, Base::token_, Base::seen_, Base::then, Base::waits_for_, Base::window_,
      Base::word_;

 public:
  using Base::Base;

  // Stops before the first own window at or after `until`. If `until` is end(), stops when all windows are
  // written, or at once if aggregators own the windows.
  template <class Call, class NextOwn>
  Action<Word> step(Call& call, NextOwn next_own, uint64_t until) {
    switch (at_) {
      case At::own_window:
        this->forget_tokens();
        if (this->leaves(call, until)) return {ActionKind::done};
        if (number_ >= call.end()) return then(At::completion);
        seen_ = call.state(number_).load();
        if (seen_ != call.free_for(number_)) return then(At::token_search);
        return then(At::arrival, {ActionKind::copy, nullptr, 0, number_});
      case At::arrival: {
        const uint64_t number = std::exchange(number_, next_own(number_ + 1));
        Word& arrived = call.arrived(number);
        at_ = At::own_window;
        SHEAF_DEBUG_ASSERT(number_ > number && arrived.load() < call.due(number));
        if (arrived.fetch_add(1) + 1 != call.due(number)) return {};
        if (call.has_aggregators()) return {ActionKind::wake, &arrived};
        // The last task to arrive leaves the write to a waiting task, because other tasks may wait for the
        // parts that it packs next. In the first round of slots no task waits, so the last task tries to
        // write.
        hurries_ = number < call.begin() + call.slots();
        if (hurries_) at_ = At::token_search;
        return {ActionKind::wake, number + call.slots() < call.end() ? &call.state(number)
                                                                     : &call.io_token(call.token_of(number))};
      }
      case At::completion:
        if (waits_for_ == call.tokens()) return {ActionKind::done};
        seen_ = call.io_token(waits_for_).load();
        if (IoToken::next(call, waits_for_, seen_) == call.end()) {
          ++waits_for_;
          return {};
        }
        token_ = 0;
        return then(At::token_search);
      default:
        return write(call);
    }
  }

 private:
  // Writes full windows with any free token. Sleeps when no token is free or its window is not full.
  template <class Call>
  Action<Word> write(Call& call) {
    switch (at_) {
      case At::token_search:
        if (call.has_aggregators() || token_ == call.tokens()) return doze(call);
        word_ = call.io_token(token_).load();
        window_ = IoToken::next(call, token_, word_);
        return go_if(!IoToken::is_held(word_) && window_ < call.end(), At::slot_check);
      case At::slot_check:
        return go_if(call.state(window_).load() == call.free_for(window_), At::arrival_check);
      case At::arrival_check:
        return go_if(call.arrived(window_).load() == call.due(window_), At::token_acquisition);
      case At::token_acquisition:
        if (!call.io_token(token_).compare_exchange_strong(word_, IoToken::held_at(window_)))
          return then(At::token_search);
        SHEAF_DEBUG_ASSERT(call.arrived(window_).load() == call.due(window_));
        return then(At::arrival_reset, {ActionKind::transfer, nullptr, 0, window_});
      case At::arrival_reset:
        SHEAF_DEBUG_ASSERT(call.io_token(token_).load() == IoToken::held_at(window_));
        call.arrived(window_).store(0);
        return then(At::slot_release);
      case At::slot_release:
        SHEAF_DEBUG_ASSERT(call.state(window_).load() == call.free_for(window_));
        call.state(window_).store(WindowSlotState::done(call.free_for(window_)));
        return then(At::token_release, {ActionKind::wake, &call.state(window_)});
      default:  // token_release: releases the token, and acquires it again if the next window is full
        window_ = IoToken::from_on(call, token_, window_ + 1);
        call.io_token(token_).store(IoToken::free_at(window_));
        if (window_ < call.end()) return then(At::token_search);
        return then(At::token_search, {ActionKind::wake, &call.io_token(token_)});
    }
  }
  Action<Word> go_if(bool goes, At at) {
    if (goes) return then(at);
    ++token_;
    return then(At::token_search);
  }

  template <class Call>
  Action<Word> doze(Call& call) {
    if (std::exchange(hurries_, false)) return then(At::own_window);
    if (number_ < call.end()) return then(At::own_window, {ActionKind::sleep, &call.state(number_), seen_});
    return then(At::completion, {ActionKind::sleep, &call.io_token(waits_for_), seen_});
  }

  bool hurries_ = false;  // has parts to pack while it looks for a token
};

enum class UnpackAt : uint8_t {
  own_window,
  token_search,
  slot_check,
  token_acquisition,
  publication,
  token_advance,
  read_ahead,
  token_release,
  arrival,
  arrival_reset,
  slot_release,
  completion
};

// The protocol of a task that unpacks its parts of windows.
template <class Word>
class UnpackProtocol : public WindowSteps<Word, UnpackAt> {
  using At = UnpackAt;
  using Base = WindowSteps<Word, At>;
  using Base::at_, Base::number_, Base::token_, Base::seen_, Base::then, Base::waits_for_, Base::window_,
      Base::word_;

 public:
  using Base::Base;

  // Stops before the first own window at or after `until`. If `until` is end(), stops when all windows are
  // read, or at once if aggregators own the windows. `ahead` is the maximum number of windows read ahead of
  // the next own window, if their slots are free. The task that has read that window reads them, and so do
  // tasks that wait for it.
  template <class Call, class NextOwn>
  Action<Word> step(Call& call, NextOwn next_own, uint64_t until, uint64_t ahead) {
    switch (at_) {
      case At::own_window: {
        if (this->leaves(call, until)) return {ActionKind::done};
        if (number_ >= call.end()) return then(At::completion);
        const uint32_t state = call.state(number_).load();
        if (state == WindowSlotState::there(call.free_for(number_)))
          return then(At::arrival, {ActionKind::copy, nullptr, 0, number_});
        if (call.has_aggregators()) return {ActionKind::sleep, &call.state(number_), state};
        return then(At::token_search);
      }
      case At::arrival:
        window_ = std::exchange(number_, next_own(number_ + 1));
        if (call.arrived(window_).fetch_add(1) + 1 == call.due(window_)) return then(At::arrival_reset);
        return look_again();
      case At::arrival_reset:
        call.arrived(window_).store(0);
        return then(At::slot_release);
      case At::slot_release:
        SHEAF_DEBUG_ASSERT(call.state(window_).load() == WindowSlotState::there(call.free_for(window_)));
        call.state(window_).store(WindowSlotState::done(call.free_for(window_)));
        return look_again({ActionKind::wake, &call.state(window_)});
      case At::completion:  // other tasks read the windows that they need
        if (waits_for_ == call.tokens()) return {ActionKind::done};
        word_ = call.io_token(waits_for_).load();
        if (IoToken::next(call, waits_for_, word_) != call.end())
          return {ActionKind::sleep, &call.io_token(waits_for_), word_};
        ++waits_for_;
        return {};
      default:
        return read(call, ahead);
    }
  }

 private:
  // The steps from the search for a token to its release.
  template <class Call>
  Action<Word> read(Call& call, uint64_t ahead) {
    switch (at_) {
      case At::token_search:
        return find_token(call, ahead);
      case At::slot_check: {
        const uint32_t state = call.state(window_).load();
        // Negative if another task has already read the window.
        const auto early = static_cast<int32_t>(call.free_for(window_) - state);
        if (early == 0) return then(At::token_acquisition);
        if (tried_ > 0) return try_next();
        if (early < 0) return look_again();
        return look_again({ActionKind::sleep, &call.state(window_), state});
      }
      case At::token_acquisition:
        if (!call.io_token(token_).compare_exchange_strong(word_, IoToken::held_at(window_)))
          return look_again();
        return then(At::publication, {ActionKind::transfer, nullptr, 0, window_});
      case At::publication:
        SHEAF_DEBUG_ASSERT(call.io_token(token_).load() == IoToken::held_at(window_));
        SHEAF_DEBUG_ASSERT(call.state(window_).load() == call.free_for(window_));
        call.state(window_).store(WindowSlotState::there(call.free_for(window_)));
        return then(At::token_advance, {ActionKind::wake, &call.state(window_)});
      case At::token_advance:
        window_ = IoToken::from_on(call, token_, window_ + 1);
        call.io_token(token_).store(IoToken::held_at(window_));
        return then(At::read_ahead, {ActionKind::wake, &call.io_token(token_)});
      case At::read_ahead:
        if (window_ >= call.end() || window_ > number_ + ahead ||
            call.state(window_).load() != call.free_for(window_))
          return then(At::token_release);
        return then(At::publication, {ActionKind::transfer, nullptr, 0, window_});
      default:  // token_release
        call.io_token(token_).store(IoToken::free_at(window_));
        return look_again({ActionKind::wake, &call.io_token(token_)});
    }
  }

  // Tries the token of the own window. If another task holds that token and reads, tries a free token with a
  // window that comes soon. Sleeps if no token is usable.
  template <class Call>
  Action<Word> find_token(Call& call, uint64_t ahead) {
    const int own = call.token_of(number_);
    if (tried_ == call.tokens()) return look_again({ActionKind::sleep, &call.io_token(own), seen_});
    token_ = (own + tried_) % call.tokens();
    word_ = call.io_token(token_).load();
    window_ = IoToken::next(call, token_, word_);
    if (tried_ == 0) {
      seen_ = word_;
      if (window_ > number_) return look_again();  // already read by another task
    }
    if (IoToken::is_held(word_) || window_ >= call.end() || window_ > number_ + ahead) return try_next();
    return then(At::slot_check);
  }
  Action<Word> look_again(Action<Word> act = {}) {
    this->forget_tokens();
    seen_ = 0;
    tried_ = 0;
    return then(At::own_window, act);
  }
  Action<Word> try_next() {
    ++tried_;
    return then(At::token_search);
  }

  int tried_ = 0;  // number of tokens found unusable, starting with that of the next own window
};

}  // namespace sheaf::exchange

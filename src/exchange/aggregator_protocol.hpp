// exchange/aggregator_protocol: the steps of an aggregator in the window protocol (exchange/window_protocol).
#pragma once

#include "exchange/window_protocol.hpp"

#include "base/assert.hpp"

namespace sheaf::exchange {

// The steps of an aggregator on a window that it owns. The caller repeats each call until it returns
// ActionKind::done.
template <class Word>
class AggregatorProtocol {
 public:
  // Waits until the slot is free for `window`.
  template <class Call>
  Action<Word> await_free(Call& call, uint64_t window) {
    return await(call.state(window), call.free_for(window));
  }
  // Waits until all tasks have packed their parts. The slot must already be in use for `window`.
  template <class Call>
  Action<Word> await_full(Call& call, uint64_t window) {
    SHEAF_DEBUG_ASSERT(call.state(window).load() == call.free_for(window));
    return await(call.arrived(window), call.due(window));
  }
  // Releases the slot after the window's contents have been written to the file or sent.
  template <class Call>
  Action<Word> empty(Call& call, uint64_t window) {
    if (at_ == AggregatorPhase::start) {
      SHEAF_DEBUG_ASSERT(call.arrived(window).load() == call.due(window));
      call.arrived(window).store(0);
      at_ = AggregatorPhase::emptied;
      return {};
    }
    return set_state(call, window, WindowSlotState::done(call.free_for(window)));
  }
  // Publishes a window that has been read, or releases its slot if no task of the host has a part of the
  // window.
  template <class Call>
  Action<Word> offer(Call& call, uint64_t window) {
    SHEAF_ASSERT(at_ != AggregatorPhase::emptied);
    SHEAF_DEBUG_ASSERT(at_ == AggregatorPhase::freed || call.state(window).load() == call.free_for(window));
    const uint32_t free = call.free_for(window);
    return set_state(call, window,
                     call.due(window) > 0 ? WindowSlotState::there(free) : WindowSlotState::done(free));
  }

 private:
  enum class AggregatorPhase : uint8_t { start, emptied, freed };

  static Action<Word> await(Word& word, uint32_t value) {
    const uint32_t seen = word.load();
    if (seen == value) return {ActionKind::done};
    return {ActionKind::sleep, &word, seen};
  }
  template <class Call>
  Action<Word> set_state(Call& call, uint64_t window, uint32_t value) {
    if (at_ == AggregatorPhase::freed) {
      at_ = AggregatorPhase::start;
      return {ActionKind::done};
    }
    call.state(window).store(value);
    at_ = AggregatorPhase::freed;
    return {ActionKind::wake, &call.state(window)};
  }

  AggregatorPhase at_ = AggregatorPhase::start;
};

}  // namespace sheaf::exchange

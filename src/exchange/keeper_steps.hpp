// exchange/keeper_steps: the steps of an aggregator in the protocol of the stage (exchange/stage_steps).
#pragma once

#include "exchange/stage_steps.hpp"

namespace sheaf::exchange {

// An aggregator whose windows are kept for it. Each call is to be repeated until it says leave.
template <class Word>
class KeeperSteps {
 public:
  // The slot is the window's.
  template <class Call>
  Act<Word> await_free(Call& call, uint64_t window) {
    return await(call.state(window), call.free_for(window));
  }
  // All tasks have put their parts into it; the slot is the window's.
  template <class Call>
  Act<Word> await_full(Call& call, uint64_t window) {
    return await(call.arrived(window), call.due(window));
  }
  // What was put is where it belongs.
  template <class Call>
  Act<Word> empty(Call& call, uint64_t window) {
    if (at_ == At::begin) {
      call.arrived(window).store(0);
      at_ = At::emptied;
      return {};
    }
    return set_state(call, window, SlotState::done(call.free_for(window)));
  }
  // What was read may be taken; done, if nobody takes.
  template <class Call>
  Act<Word> offer(Call& call, uint64_t window) {
    const uint32_t free = call.free_for(window);
    return set_state(call, window, call.due(window) > 0 ? SlotState::there(free) : SlotState::done(free));
  }

 private:
  enum class At : uint8_t { begin, emptied, freed };

  static Act<Word> await(Word& word, uint32_t value) {
    const uint32_t seen = word.load();
    if (seen == value) return {Do::leave};
    return {Do::sleep, &word, seen};
  }
  template <class Call>
  Act<Word> set_state(Call& call, uint64_t window, uint32_t value) {
    if (at_ == At::freed) {
      at_ = At::begin;
      return {Do::leave};
    }
    call.state(window).store(value);
    at_ = At::freed;
    return {Do::wake, &call.state(window)};
  }

  At at_ = At::begin;
};

}  // namespace sheaf::exchange

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
    Word& turn = call.turn(window);
    const uint32_t seen = turn.load();
    if (seen != call.free_for(window)) return {Do::sleep, &turn, seen};
    return {Do::leave};
  }
  // All tasks have put their parts into it; the slot is the window's.
  template <class Call>
  Act<Word> await_full(Call& call, uint64_t window) {
    Word& arrived = call.arrived(window);
    const uint32_t seen = arrived.load();
    if (seen != call.due(window)) return {Do::sleep, &arrived, seen};
    return {Do::leave};
  }
  // What was put is where it belongs.
  template <class Call>
  Act<Word> empty(Call& call, uint64_t window) {
    if (at_ == At::begin) {
      call.arrived(window).store(0);
      at_ = At::emptied;
      return {};
    }
    return turn(call, window, Turn::done(call.free_for(window)));
  }
  // What was read may be taken; done, if nobody takes.
  template <class Call>
  Act<Word> offer(Call& call, uint64_t window) {
    const uint32_t free = call.free_for(window);
    return turn(call, window, call.due(window) > 0 ? Turn::there(free) : Turn::done(free));
  }

 private:
  enum class At : uint8_t { begin, emptied, turned };

  template <class Call>
  Act<Word> turn(Call& call, uint64_t window, uint32_t value) {
    if (at_ == At::turned) {
      at_ = At::begin;
      return {Do::leave};
    }
    call.turn(window).store(value);
    at_ = At::turned;
    return {Do::wake, &call.turn(window)};
  }

  At at_ = At::begin;
};

// Carries out step(keeper) until it says leave; `call` does what acts ask for.
template <class Word, class Call, class Step>
void keep(const Call& call, Step step) {
  for (KeeperSteps<Word> keeper;;) {
    const Act<Word> act = step(keeper);
    if (act.what == Do::leave) return;
    call.carry_out(act);
  }
}

}  // namespace sheaf::exchange

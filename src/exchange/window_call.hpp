// exchange/window_call: one pass of a task over the windows of a transfer, through the window pool of its
// host.
//
// The caller passes functions that process the task's part of a window, by copying or marking bytes, and that
// transfer a whole window.
#pragma once

#include <span>
#include <vector>

#include "base/extent.hpp"
#include "exchange/aggregator_protocol.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/pieces/windows.hpp"
#include "exchange/shm_window_pool.hpp"
#include "exchange/window_protocol.hpp"

namespace sheaf::exchange {

// The windows of a call, numbered from `begin`. Implements the `Call` of exchange/window_protocol.
class WindowCall {
 public:
  // `ranges` are the ranges of the host's tasks. If `tokens` > 0, only windows that contain bytes of a range
  // are numbered. If `tokens` is 0, aggregators own the windows, and all windows are numbered.
  WindowCall(ShmWindowPool& pool, uint64_t begin, const Windows& windows,
             std::span<const ShmWindowPool::TaskExtent> ranges, int tokens);

  const Windows& windows() const { return windows_; }
  ShmWindowPool& pool() const { return pool_; }

  int64_t place(uint64_t number) const;
  int64_t low(uint64_t number) const { return windows_.begin(place(number)); }
  int64_t high(uint64_t number) const { return windows_.end(place(number)); }
  int64_t length(uint64_t number) const { return high(number) - low(number); }
  std::byte* memory(uint64_t number) const { return pool_.memory(number, length(number)); }
  std::span<std::byte> bytes(uint64_t number) const {
    return {memory(number), static_cast<size_t>(length(number))};
  }

  // Returns the first window at or after `number` that overlaps `range`; end() if there is none.
  uint64_t next(uint64_t number, const Extent& range) const;

  // The following functions implement `Call` (exchange/window_protocol).
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint64_t slots() const { return static_cast<uint64_t>(pool_.shape().slots); }
  bool has_aggregators() const { return tokens_ == 0; }
  int tokens() const { return tokens_; }
  int token_of(uint64_t number) const {
    return static_cast<int>((number - begin_) % static_cast<uint64_t>(tokens_));
  }
  uint32_t due(uint64_t number) const;
  uint32_t free_for(uint64_t number) const { return WindowSlotState::free_for(number, pool_.shape().slots); }
  SharedWord& state(uint64_t number) const { return pool_.slot(number).state; }
  SharedWord& arrived(uint64_t number) const { return pool_.slot(number).arrived; }
  SharedWord& io_token(int number) const { return pool_.io_token(number); }

  // Carries out an action other than copies and transfers.
  void carry_out(const Action<SharedWord>& act) const;

 private:
  struct WindowRun {  // windows with consecutive numbers
    uint64_t number;
    int64_t place;
  };
  bool has_work() const;

  ShmWindowPool& pool_;
  const Windows windows_;
  const uint64_t begin_;
  uint64_t end_;
  const int tokens_;
  std::vector<int64_t> firsts_, lasts_;  // places of the first and last windows of the ranges, sorted
  std::vector<WindowRun> runs_;
};

// A task's part of a window: stream bytes [from, to), possibly none.
struct WindowPart {
  uint64_t number = 0;
  int64_t from = 0;
  int64_t to = 0;
};

// Moves a task through the windows of its access; `Steps` is PackProtocol or UnpackProtocol.
template <class Steps>
class WindowPass {
 public:
  WindowPass(const WindowCall& call, const FileAccess& access)
      : call_(call),
        access_(access),
        own_(access.bytes() > 0 ? Extent::between(access.low(), access.high()) : Extent()),
        steps_(call.next(call.begin(), own_)) {}

  // Advances to the task's first window at or after `until`. Calls copy(part) for each part on the way, and
  // transfer(number) for windows that this task transfers. Passes `ahead` to UnpackProtocol::step().
  template <class Copy, class Transfer, class... Ahead>
  void go(uint64_t until, Copy copy, Transfer transfer, Ahead... ahead) {
    const auto next_own = [this](uint64_t number) { return call_.next(number, own_); };
    for (;;) {
      const Action<SharedWord> act = steps_.step(call_, next_own, until, ahead...);
      switch (act.what) {
        case ActionKind::copy:
          copy(part(act.number));
          break;
        case ActionKind::transfer:
          transfer(act.number);
          break;
        case ActionKind::done:
          return;
        default:
          call_.carry_out(act);
      }
    }
  }

 private:
  WindowPart part(uint64_t number) {
    const int64_t low = call_.low(number);
    const int64_t from = low == behind_ ? to_ : access_.position_at(low);
    behind_ = call_.high(number);
    to_ = access_.position_at(behind_);
    return {number, from, to_};
  }

  const WindowCall& call_;
  const FileAccess& access_;
  const Extent own_;
  Steps steps_;
  int64_t behind_ = -1;  // end of the last window, in the file
  int64_t to_ = 0;       // stream position at `behind_`
};

// An aggregator's operations on a window that it owns.
using Aggregator = AggregatorProtocol<SharedWord>;
using AggregatorStep = Action<SharedWord> (Aggregator::*)(const WindowCall&, uint64_t);
inline void perform(const WindowCall& call, uint64_t number, AggregatorStep step) {
  for (Aggregator aggregator;;) {
    const Action<SharedWord> act = (aggregator.*step)(call, number);
    if (act.what == ActionKind::done) return;
    call.carry_out(act);
  }
}
inline void await_free(const WindowCall& call, uint64_t number) {
  perform(call, number, &Aggregator::await_free);
}
inline void await_full(const WindowCall& call, uint64_t number) {
  await_free(call, number);
  perform(call, number, &Aggregator::await_full);
}
inline void empty(const WindowCall& call, uint64_t number) { perform(call, number, &Aggregator::empty); }
inline void offer(const WindowCall& call, uint64_t number) { perform(call, number, &Aggregator::offer); }

using PutPass = WindowPass<PackProtocol<SharedWord>>;
using TakePass = WindowPass<UnpackProtocol<SharedWord>>;

}  // namespace sheaf::exchange

// The assertions of exchanges and of the window protocol.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "exchange/aggregator_protocol.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/pieces/coverage.hpp"
#include "exchange/pieces/windows.hpp"
#include "exchange/transfer/concurrent_openers.hpp"
#include "exchange/transfer/kept_ranges.hpp"
#include "support/assertions.hpp"
#include "support/explorer.hpp"

namespace sheaf::exchange::assertions_test {
namespace {

using Word = test::ModelWord;

// One window with one slot. Both tasks of the host have a part of the window.
struct ProtocolCall {
  Word state_, arrived_, token_;
  int tokens_ = 1;
  uint64_t begin() const { return 0; }
  uint64_t end() const { return 1; }
  uint64_t slots() const { return 1; }
  bool has_aggregators() const { return tokens_ == 0; }
  int tokens() const { return tokens_; }
  int token_of(uint64_t) const { return 0; }
  uint32_t due(uint64_t) const { return 2; }
  uint32_t free_for(uint64_t number) const { return WindowSlotState::free_for(number, 1); }
  Word& state(uint64_t) { return state_; }
  Word& arrived(uint64_t) { return arrived_; }
  Word& io_token(int) { return token_; }
};

uint64_t next_own(uint64_t number) { return number; }

// Packs the part of the task that arrives last, up to the transfer of the window.
PackProtocol<Word> packed_by_last_task(ProtocolCall& call) {
  PackProtocol<Word> steps(0);
  call.arrived_.store(1);
  while (steps.step(call, next_own, 1).what != ActionKind::transfer) {
  }
  return steps;
}

TEST(Assertions, OfTasksThatPackWindows) {
  ProtocolCall call;
  PackProtocol<Word> late(0);
  EXPECT_EQ(late.step(call, next_own, 1).what, ActionKind::copy);
  call.arrived_.store(2);
  EXPECT_DEBUG_ASSERTION(late.step(call, next_own, 1), "arrived.load.. < call.due");

  ProtocolCall stolen;
  auto steps = packed_by_last_task(stolen);
  stolen.token_.store(IoToken::free_at(0));
  EXPECT_DEBUG_ASSERTION(steps.step(stolen, next_own, 1), "held_at");

  ProtocolCall reused;
  steps = packed_by_last_task(reused);
  steps.step(reused, next_own, 1);
  reused.state_.store(WindowSlotState::done(0));
  EXPECT_DEBUG_ASSERTION(steps.step(reused, next_own, 1), "free_for");
}

TEST(Assertions, OfTasksThatUnpackWindows) {
  ProtocolCall call;
  UnpackProtocol<Word> steps(0);
  while (steps.step(call, next_own, 1, 0).what != ActionKind::transfer) {
  }
  call.state_.store(WindowSlotState::there(0));
  EXPECT_DEBUG_ASSERTION(steps.step(call, next_own, 1, 0), "free_for");
}

TEST(Assertions, OfAggregators) {
  ProtocolCall call;
  call.tokens_ = 0;
  AggregatorProtocol<Word> steps;
  EXPECT_DEBUG_ASSERTION(steps.empty(call, 0), "call.due");
  call.state_.store(WindowSlotState::there(0));
  EXPECT_DEBUG_ASSERTION(steps.await_full(call, 0), "free_for");
  EXPECT_DEBUG_ASSERTION(steps.offer(call, 0), "free_for");
}

TEST(Assertions, OfWindows) {
  EXPECT_ASSERTION(Windows::over(5, 5, 1), "low < high");
  EXPECT_ASSERTION(Windows::over(0, 5, 4, 6), "unit % size == 0");
}

TEST(Assertions, OfAccesses) {
  const layout::TypeMap type = layout::TypeMap::bytes(4);
  const FileAccess none{.filetype = &type, .memory = &type};
  EXPECT_DEBUG_ASSERTION(none.low(), "bytes.. > 0");
  const layout::TypeMap back = type.resized(0, -4);
  const FileAccess decreasing{.filetype = &back, .to = 8, .memory = &type};
  EXPECT_DEBUG_ASSERTION(decreasing.position_at(4), "is_ordered");
  EXPECT_DEBUG_ASSERTION(pack_window(decreasing, 4, 12, nullptr, 0), "to <= access.to");
}

TEST(Assertions, OfCoverage) {
  std::array<std::atomic<uint64_t>, 1> words{};
  const CoverageMap map(words);
  EXPECT_DEBUG_ASSERTION(map.set(60, 65), "end <= bits");
  KeptRanges ranges;
  EXPECT_DEBUG_ASSERTION(ranges.add(2, 1), "begin <= end");
  ConcurrentOpeners openers;
  EXPECT_ASSERTION(openers.announce(nullptr), "file");
}

}  // namespace
}  // namespace sheaf::exchange::assertions_test

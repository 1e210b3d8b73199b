// The assertions of groups, and of the barrier in shared memory.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "comm/barrier_protocol.hpp"
#include "comm/comm.hpp"
#include "comm/messages.hpp"
#include "comm/rounds.hpp"
#include "comm/shared_memory.hpp"
#include "comm/shm_barrier.hpp"
#include "comm/threads/thread_team.hpp"
#include "support/assertions.hpp"
#include "support/explorer.hpp"

namespace sheaf::comm_assertions_test {
namespace {

struct AssertedWords {
  test::ModelWord arrive_, barriers_, too_long_;
  test::ModelWord& arrive() { return arrive_; }
  test::ModelWord& barriers() { return barriers_; }
  test::ModelWord& too_long(uint32_t) { return too_long_; }
  uint32_t size() const { return 2; }
};

TEST(Assertions, OfTheBarrierProtocol) {
  AssertedWords words;
  BarrierProtocol<test::ModelWord> steps;
  steps.step(words, true);
  EXPECT_ASSERTION(steps.go_on(), "at_ == BarrierPhase");  // has not arrived
  words.arrive_.store(2);
  EXPECT_DEBUG_ASSERTION(steps.step(words, true), "words.arrive");
  words.arrive_.store(0);
  steps.step(words, true);
  ASSERT_TRUE(steps.waits());
  words.barriers_.store(2);
  EXPECT_ASSERTION(steps.step(words, true), "number_ + 1");
}

TEST(Assertions, OfTheBarrierInMemory) {
  alignas(64) static std::array<std::byte, 1 << 14> memory;
  ASSERT_GE(memory.size(), ShmBarrier::memory_size(1) + 1);
  EXPECT_ASSERTION(ShmBarrier(memory.data() + 1, 0, 1), "memory");
  EXPECT_ASSERTION(ShmBarrier(memory.data(), 1, 1), "rank < size");
  ShmBarrier barrier(memory.data(), 0, 1);
  EXPECT_ASSERTION(barrier.wait([] {}), "waits");
  EXPECT_ASSERTION(barrier.of(1), "rank < size_");
}

TEST(Assertions, OfGroups) {
  Gathered joined;
  joined.sizes = {1};
  EXPECT_ASSERTION(joined.pieces(), "std..ssize.bytes.");
  const auto alone = self_comm();
  std::array<int64_t, 2> values{};
  EXPECT_ASSERTION(alone->Comm::prefix_sum_and_total(values, std::span(values).first(1)), "totals.size");
  EXPECT_ASSERTION(
      static_cast<void>(in_rounds(
          *alone, -1, [](int64_t) { return StepMessages(); }, [](int64_t, const std::vector<int64_t>&) {})),
      "steps >= 0");
  EXPECT_ASSERTION(share_process_memory(*alone, 0), "bytes > 0");
  std::byte byte{};
  const MemoryRun run{&byte, 1, 1, 1};
  EXPECT_DEBUG_ASSERTION(scatter({}, {&run, 1}), "bytes_of");
}

TEST(Assertions, OfThreadTeams) {
  ThreadTeam team(1);
  EXPECT_ASSERTION(team.run_together(1, ThreadTeam::Actor::last, {.call = "a"}, [](Offers) {}),
                   "rank < size");
}

}  // namespace
}  // namespace sheaf::comm_assertions_test

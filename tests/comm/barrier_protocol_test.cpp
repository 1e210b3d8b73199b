// Explores all interleavings of three tasks in the protocol of the shared-memory barrier. No task may sleep
// for ever, and no contribution may be overwritten while a task may still read it.
#include "comm/barrier_protocol.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/explorer.hpp"

namespace sheaf::barrier_protocol_test {
namespace {

using Word = test::ModelWord;
using Steps = BarrierProtocol<Word>;

constexpr int tasks = 3;
constexpr uint32_t barriers = 4;

struct ProtocolWords {
  Word arrive_, barriers_;
  std::array<Word, 2> too_long_{};
  Word& arrive() { return arrive_; }
  Word& barriers() { return barriers_; }
  Word& too_long(uint32_t barrier) { return too_long_[barrier % 2]; }
  uint32_t size() const { return tasks; }
};

struct BarrierTask {
  Steps steps;
  uint32_t reads = 0;  // number of the barrier that the task is reading contributions of, + 1
  bool sleeps = false;
  bool left = false;
};

struct BarrierState {
  ProtocolWords words;
  std::array<std::array<uint32_t, tasks>, 2>
      slots{};  // number of the barrier that a contribution belongs to, + 1
  std::array<BarrierTask, tasks> task{};
  uint32_t long_one = 0;  // number of the barrier in which task 0 contributes too much, + 1

  bool can_go(int t) const { return !has_left(t) && !task[static_cast<size_t>(t)].sleeps; }
  bool has_left(int t) const { return task[static_cast<size_t>(t)].left; }
  std::string text() const { return ""; }
  std::string at_end() const {
    return words.arrive_.value == 0 && words.barriers_.value == barriers ? "" : "a count was left";
  }

  std::string step(int t) {
    BarrierTask& own = task[static_cast<size_t>(t)];
    if (const uint32_t barrier = std::exchange(own.reads, 0U); barrier != 0) {
      for (const uint32_t found : slots[(barrier - 1) % 2])
        if (found != barrier) return "a contribution was written over";
      if ((words.too_long(barrier - 1).load() != 0) != (barrier == long_one))
        return "it is not known what was too long";
    }
    if (own.steps.number() == barriers) {
      own.left = true;
      return "";
    }
    const uint32_t number = own.steps.number();
    switch (own.steps.step(words, t != 0 || number + 1 != long_one)) {
      case Steps::BarrierAction::post:
        slots[number % 2][static_cast<size_t>(t)] = number + 1;
        return "";
      case Steps::BarrierAction::sleep:
        own.sleeps = words.barriers_.value == number;
        return "";
      case Steps::BarrierAction::wake:
        for (BarrierTask& other : task) other.sleeps = false;
        return "";
      case Steps::BarrierAction::done:
        own.reads = number + 1;
        return "";
      default:
        return "";
    }
  }
};

TEST(BarrierProtocol, AllArriveInEveryOrder) {
  for (const uint32_t long_one : {0U, 1U, 2U, 3U}) {
    BarrierState first;
    std::memset(static_cast<void*>(&first), 0, sizeof first);
    first.long_one = long_one;
    EXPECT_GT(test::explore(first, tasks), 500U);
  }
}

}  // namespace
}  // namespace sheaf::barrier_protocol_test

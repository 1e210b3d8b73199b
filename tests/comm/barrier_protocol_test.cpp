// Explores all interleavings of three tasks in the protocol of the shared-memory barrier. No task may sleep
// for ever, and no contribution may be overwritten while a task may still read it.
#include "comm/barrier_protocol.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/explorer.hpp"

namespace sheaf::meeting_steps_test {
namespace {

using Word = test::ModelWord;
using Steps = MeetingSteps<Word>;

constexpr int tasks = 3;
constexpr uint32_t meetings = 4;

struct Words {
  Word come_, meetings_;
  std::array<Word, 2> too_long_{};
  Word& come() { return come_; }
  Word& meetings() { return meetings_; }
  Word& too_long(uint32_t meeting) { return too_long_[meeting % 2]; }
  uint32_t size() const { return tasks; }
};

struct Task {
  Steps steps;
  uint32_t reads = 0;  // number of the barrier that the task is reading contributions of, + 1
  bool sleeps = false;
  bool left = false;
};

struct State {
  Words words;
  std::array<std::array<uint32_t, tasks>, 2>
      slots{};  // number of the barrier that a contribution belongs to, + 1
  std::array<Task, tasks> task{};
  uint32_t long_one = 0;  // number of the barrier in which task 0 contributes too much, + 1

  bool can_go(int t) const { return !has_left(t) && !task[static_cast<size_t>(t)].sleeps; }
  bool has_left(int t) const { return task[static_cast<size_t>(t)].left; }
  std::string text() const { return ""; }
  std::string at_end() const {
    return words.come_.value == 0 && words.meetings_.value == meetings ? "" : "a count was left";
  }

  std::string step(int t) {
    Task& own = task[static_cast<size_t>(t)];
    if (const uint32_t meeting = std::exchange(own.reads, 0U); meeting != 0) {
      for (const uint32_t found : slots[(meeting - 1) % 2])
        if (found != meeting) return "a contribution was written over";
      if ((words.too_long(meeting - 1).load() != 0) != (meeting == long_one))
        return "it is not known what was too long";
    }
    if (own.steps.number() == meetings) {
      own.left = true;
      return "";
    }
    const uint32_t number = own.steps.number();
    switch (own.steps.step(words, t != 0 || number + 1 != long_one)) {
      case Steps::ActionKind::bring:
        slots[number % 2][static_cast<size_t>(t)] = number + 1;
        return "";
      case Steps::ActionKind::sleep:
        own.sleeps = words.meetings_.value == number;
        return "";
      case Steps::ActionKind::wake:
        for (Task& other : task) other.sleeps = false;
        return "";
      case Steps::ActionKind::leave:
        own.reads = number + 1;
        return "";
      default:
        return "";
    }
  }
};

TEST(MeetingSteps, AllMeetInEveryOrder) {
  for (const uint32_t long_one : {0U, 1U, 2U, 3U}) {
    State first;
    std::memset(static_cast<void*>(&first), 0, sizeof first);
    first.long_one = long_one;
    EXPECT_GT(test::explore(first, tasks), 500U);
  }
}

}  // namespace
}  // namespace sheaf::meeting_steps_test

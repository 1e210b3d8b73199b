// A failed request is completed if the task's next calls have its bytes, in one request or in several. Any
// other call must leave it incomplete.
#include "multifile/stream/failed_writes.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "multifile/stream/constants.hpp"
#include "support/programs.hpp"

namespace sheaf::test::failed_writes_test {
namespace {

class FailingProgram {
 public:
  FailingProgram& fails(std::string_view text, int64_t task = 0) {
    failed_.fail(request(text, task), Error(Code::no_space, "disk full: " + std::string(text)), "'a'");
    return *this;
  }
  FailingProgram& writes(std::string_view text, int64_t task = 0) {
    failed_.accept(request(text, task));
    return *this;
  }
  bool awaits_retry() const { return failed_.any(); }
  std::string error() const {
    const auto problem = attempt([&] { failed_.require_none(); });
    return problem ? problem->what() : "";
  }

 private:
  // Creates a request with the first three bytes as a head, like that of a key-value record.
  static multifile::FailedWrites::WriteRequest request(std::string_view text, int64_t task) {
    const auto bytes = std::as_bytes(std::span(text));
    const size_t head = std::min<size_t>(3, bytes.size());
    return {task, bytes.first(head), bytes.subspan(head)};
  }
  multifile::FailedWrites failed_;
};

TEST(FailedWrites, TheSameRequestCompletesIt) {
  FailingProgram p;
  EXPECT_FALSE(p.awaits_retry());
  EXPECT_EQ(p.error(), "");
  p.fails("record 1");
  EXPECT_EQ(p.error(), "'a': disk full: record 1");
  EXPECT_FALSE(p.writes("record 1").awaits_retry());
  EXPECT_EQ(p.error(), "");
}

TEST(FailedWrites, PartsAndLargerRequestsCompleteIt) {
  EXPECT_FALSE(FailingProgram().fails("record 1").writes("r").writes("ecord").writes(" 1").awaits_retry());
  EXPECT_FALSE(FailingProgram().fails("record 1").writes("record 1, record 2").awaits_retry());
  EXPECT_TRUE(FailingProgram().fails("record 1").writes("record").awaits_retry());
}

TEST(FailedWrites, OtherBytesInItsPlaceNeverCompleteIt) {
  FailingProgram p;
  p.fails("record 1").writes("record 2");
  EXPECT_TRUE(p.awaits_retry());
  EXPECT_TRUE(p.writes("record 1").awaits_retry());
  EXPECT_EQ(p.error(), "'a': disk full: record 1");
}

TEST(FailedWrites, ARetryMayFailAsOftenAsItLikes) {
  FailingProgram p;
  for (int i = 0; i < 1000; ++i) p.fails("record 1");
  EXPECT_FALSE(p.writes("record 1").awaits_retry());
  // The program repeats the record in parts, some of which are accepted.
  p.fails("record 1").fails("rec").writes("rec").fails("ord").fails("ord").writes("ord").writes(" 1");
  EXPECT_FALSE(p.awaits_retry());
}

TEST(FailedWrites, SeveralRequestsAreRepeatedInTheirOrder) {
  FailingProgram p;
  p.fails("first").fails("second").fails("third").fails("first").fails("second");
  EXPECT_TRUE(p.writes("first").awaits_retry());
  EXPECT_EQ(p.error(), "'a': disk full: second");
  EXPECT_TRUE(p.fails("second").writes("second").awaits_retry());
  EXPECT_FALSE(p.writes("third").awaits_retry());
}

TEST(FailedWrites, AProgramThatContinuesWithTheLatestLacksTheEarlier) {
  EXPECT_EQ(FailingProgram().fails("first").fails("second").writes("second").writes("third").error(),
            "'a': disk full: first");
}

TEST(FailedWrites, TasksAreApart) {
  FailingProgram p;
  p.fails("one", 1).writes("two", 2).writes("one", 2);
  EXPECT_TRUE(p.awaits_retry());
  EXPECT_FALSE(p.writes("one", 1).awaits_retry());
}

TEST(FailedWrites, RequestsWithoutBytesAreNone) { EXPECT_FALSE(FailingProgram().fails("").awaits_retry()); }

TEST(FailedWrites, TooManyAreNeverCompletedAndCostNoMemory) {
  FailingProgram p;
  const auto record = [](int64_t i) { return "record " + std::to_string(i); };
  for (int64_t i = 0; i < 1000; ++i) p.fails(record(i));
  for (int64_t i = 0; i < 1000; ++i) p.writes(record(i));
  EXPECT_TRUE(p.awaits_retry());
  EXPECT_NE(p.error(), "");

  FailingProgram few;
  for (int64_t i = 0; i < multifile::stream_constants::max_failed_writes; ++i) few.fails(record(i));
  for (int64_t i = 0; i < multifile::stream_constants::max_failed_writes; ++i) few.writes(record(i));
  EXPECT_FALSE(few.awaits_retry());
}

// Models a program with a queue of requests. It appends some, and retries the first ones, each in one piece
// or in two, until all are accepted.
TEST(FailedWrites, RandomQueuesEndWithoutARest) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FailingProgram p;
    std::vector<std::string> queue;
    for (int i = 0; i < 12; ++i)
      queue.push_back(std::to_string(i) + std::string(static_cast<size_t>(random.below(9)), 'x'));
    while (!queue.empty()) {
      // One pass through the queue, in order, until a request is accepted.
      for (size_t i = 0; i < std::min<size_t>(queue.size(), 1 + random.below(3)); ++i) {
        if (i == 0 && random.chance(2)) {
          p.writes(queue.front());
          queue.erase(queue.begin());
          break;
        }
        p.fails(queue[i]);
      }
    }
    EXPECT_FALSE(p.awaits_retry()) << p.error();
  }
}

}  // namespace
}  // namespace sheaf::test::failed_writes_test

// How waits grow, and when they end.
#include "base/os/backoff.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/os/deadline.hpp"
#include "support/assertions.hpp"

namespace sheaf::test::backoff_test {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestSleep) {
  Backoff backoff({.first = microseconds(100), .max = microseconds(500)});
  for (const int sleep : {100, 200, 400, 500, 500}) EXPECT_EQ(backoff.next(), microseconds(sleep));
  backoff.restart();
  EXPECT_EQ(backoff.next(), microseconds(100));
}

TEST(Backoff, GrowsByAShareOfTheTimeWaited) {
  constexpr BackoffTerms terms{.first = microseconds(20), .max = milliseconds(10), .share = 8};
  static_assert(terms.pause_after(microseconds(0)) == microseconds(20));
  static_assert(terms.pause_after(microseconds(800)) == microseconds(120));
  static_assert(terms.pause_after(milliseconds(800)) == milliseconds(10));
}

TEST(Backoff, YieldsBeforeItSleeps) {
  Backoff backoff({.first = microseconds(1), .max = microseconds(2), .yielding = hours(1)});
  for (int i = 0; i < 1000; ++i) backoff.wait();
  EXPECT_EQ(backoff.next(), microseconds(1)) << "a wait has slept";
}

TEST(Backoff, SleepsUntilTheDeadlineAtMost) {
  Backoff backoff({.first = hours(1), .max = hours(1)});
  const Deadline deadline(milliseconds(5));
  backoff.wait(deadline);
  EXPECT_TRUE(deadline.expired());
}

TEST(Deadline, ExpiresAfterItsTimeout) {
  EXPECT_TRUE(Deadline(milliseconds(0)).expired());
  EXPECT_EQ(Deadline(milliseconds(0)).remaining().count(), 0);
  const Deadline later(hours(1));
  EXPECT_FALSE(later.expired());
  EXPECT_GT(later.remaining(), std::chrono::minutes(59));
  const Deadline soon(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(2));
  EXPECT_TRUE(soon.expired());
}

TEST(Deadline, OfEndlessTimeoutsIsACentury) {
  for (const Deadline& endless : {Deadline(milliseconds::max()), Deadline(hours::max())}) {
    EXPECT_FALSE(endless.expired());
    EXPECT_GT(endless.remaining(), hours(24 * 36'524));
  }
}

TEST(Assertions, OfWaits) {
  EXPECT_ASSERTION(Backoff({.first = milliseconds(2), .max = milliseconds(1)}), "how.is_valid");
  EXPECT_ASSERTION(Deadline(milliseconds(-1)), "timeout.count");
}

}  // namespace
}  // namespace sheaf::test::backoff_test

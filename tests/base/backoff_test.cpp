// How waits grow, and when they end.
#include "base/os/backoff.hpp"

#include <gtest/gtest.h>

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

TEST(Backoff, GrowsByAShareOfTheTimeSlept) {
  constexpr BackoffTerms terms{.first = microseconds(20), .max = milliseconds(10), .share = 8};
  static_assert(terms.pause_after(microseconds(0)) == microseconds(20));
  static_assert(terms.pause_after(microseconds(800)) == microseconds(120));
  static_assert(terms.pause_after(milliseconds(800)) == milliseconds(10));
}

TEST(Backoff, YieldsBeforeItSleeps) {
  // Does not end for an hour if it sleeps.
  Backoff backoff({.first = hours(1), .max = hours(1), .yielding = hours(2)});
  for (int i = 0; i < 1000; ++i) backoff.wait();
  EXPECT_LT(backoff.waited(), hours(1));
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
}

TEST(Assertions, OfWaits) {
  EXPECT_ASSERTION(Backoff({.first = milliseconds(2), .max = milliseconds(1)}), "how.first <= how.max");
  EXPECT_ASSERTION(Deadline(milliseconds(-1)), "timeout.count");
}

}  // namespace
}  // namespace sheaf::test::backoff_test

// Assertions abort the process with one line on standard error.
#include "base/assert.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "base/checked.hpp"
#include "base/crc32c.hpp"
#include "base/os/futex.hpp"
#include "base/os/heartbeat.hpp"
#include "base/os/map_at_once.hpp"
#include "support/assertions.hpp"

namespace sheaf::test::assert_test {
namespace {

TEST(Assert, PrintsConditionPlaceAndFunction) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        write_no_core();
        const int two = 2;
        SHEAF_ASSERT(two == 3);
      },
      "sheaf: assertion failed: two == 3, tests/base/assert_test.cpp:[0-9]+ .TestBody.\n");
}

TEST(Assert, DoesNothingIfTheConditionIsTrue) {
  int evaluated = 0;
  SHEAF_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(Assert, CostlyConditionsAreCheckedInTests) {
  int evaluated = 0;
  SHEAF_DEBUG_ASSERT(++evaluated > 0);
  EXPECT_EQ(evaluated, debug_assertions ? 1 : 0);
}

TEST(Assertions, OfArithmetic) {
  EXPECT_DEBUG_ASSERTION(static_cast<void>(align_up(1, 0)), "unit > 0");
  EXPECT_DEBUG_ASSERTION(static_cast<void>(saturated_add(-1, 1)), "a >= 0");
  EXPECT_DEBUG_ASSERTION(crc32c_joined(0, 0, -1), "length >= 0");
}

TEST(Assertions, OfMemoryAndTime) {
  SharedWord word{0};
  EXPECT_ASSERTION(sleep_while(word, 0, 2'000'000'000), "nanoseconds <");
  alignas(4096) static std::array<std::byte, 4096> page;
  EXPECT_ASSERTION(map_at_once(std::span(page).subspan(1)), "memory.data");
  EXPECT_ASSERTION(static_cast<void>(Heartbeat::start({}, std::chrono::milliseconds(0), [] {})),
                   "interval.count");
}

}  // namespace
}  // namespace sheaf::test::assert_test

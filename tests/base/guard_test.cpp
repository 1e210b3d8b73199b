// Tests the boundary of the C interfaces, which no exception crosses.
#include "base/report/guard.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "base/error.hpp"

namespace sheaf::test::guard_test {
namespace {

constexpr int success = 1;

TEST(Guard, ReturnsTheResultOfTheBodyOrSuccess) {
  const auto failed = [](const std::exception&) { return -1; };
  EXPECT_EQ(7, run_guarded(
                   success, [] { return 7; }, failed));
  EXPECT_EQ(success, run_guarded(
                         success, [] {}, failed));
}

TEST(Guard, GivesEveryKindOfErrorToTheInterface) {
  std::string what;
  const auto failed = [&](const std::exception& error) {
    what = error.what();
    return dynamic_cast<const Error*>(&error) ? -2 : -1;
  };
  EXPECT_EQ(-2, run_guarded(
                    success, [] { throw Error(Code::io, "lost"); }, failed));
  EXPECT_EQ("lost", what);
  EXPECT_EQ(-1, run_guarded(
                    success, []() -> int { throw std::bad_alloc(); }, failed));
  EXPECT_EQ(std::bad_alloc().what(), what);
}

}  // namespace
}  // namespace sheaf::test::guard_test

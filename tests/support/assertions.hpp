// assertions: expects that statements fail assertions of the library (src/base/assert.hpp).
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cctype>
#include <string>
#include <string_view>

namespace sheaf::test {

// Returns a regular expression for the report of a failed assertion. In `condition`, characters other than
// letters and digits match any character.
inline std::string failed_assertion(std::string_view condition) {
  std::string report = "sheaf: assertion failed: .*";
  for (const char c : condition) report += std::isalnum(static_cast<unsigned char>(c)) ? c : '.';
  return report;
}

inline void write_no_core() {
  constexpr rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

}  // namespace sheaf::test

// Expects that the statement fails an assertion whose condition contains `condition`.
#define EXPECT_ASSERTION(statement, condition)              \
  do {                                                      \
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; \
    EXPECT_DEATH(                                           \
        {                                                   \
          ::sheaf::test::write_no_core();                   \
          statement;                                        \
        },                                                  \
        ::sheaf::test::failed_assertion(condition));        \
  } while (false)

// The same for SHEAF_DEBUG_ASSERT, which some builds do not check.
#ifdef SHEAF_DEBUG_ASSERTIONS
#define EXPECT_DEBUG_ASSERTION(statement, condition) EXPECT_ASSERTION(statement, condition)
#else
#define EXPECT_DEBUG_ASSERTION(statement, condition) static_cast<void>(0)
#endif

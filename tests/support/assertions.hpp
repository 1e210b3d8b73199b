// assertions: expects that statements fail assertions of the library (src/base/assert.hpp).
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cctype>
#include <string>
#include <string_view>

#include "base/assert.hpp"

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

// Expects that the statement fails an assertion, and that the text of the assertion contains `condition`.
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

// Like EXPECT_ASSERTION, for SHEAF_DEBUG_ASSERT; does nothing in a build that does not check it.
#define EXPECT_DEBUG_ASSERTION(statement, condition)                       \
  do {                                                                     \
    if (::sheaf::debug_assertions) EXPECT_ASSERTION(statement, condition); \
  } while (false)

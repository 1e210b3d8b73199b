// An environment variable adds options to the open mode.
#include "multifile/options/environment.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "multifile/options/open_mode.hpp"
#include "support/environment.hpp"

namespace sheaf::test::environment_test {

using namespace multifile;

namespace {

using format::KeyvalMode;

OpenMode mode(const char* words) { return parse_open_mode(words, words_of_environment()); }

TEST(Environment, NothingAddsNothing) { EXPECT_EQ(words_of_environment(), ""); }

TEST(Environment, TheBuffer) {
  for (const auto& [set, bytes] : {std::pair{"0", 0L}, {"4096", 4096L}, {"64k", 65536L}, {"-1", -1L}}) {
    const EnvironmentVariable size("SION_BUFFERSIZE", set);
    EXPECT_EQ(mode("w").buffer_bytes, bytes) << set;
  }
  EXPECT_EQ(OpenMode::buffer_in_bytes(OpenMode::one_block, 512), 512);
  EXPECT_EQ(OpenMode::buffer_in_bytes(100, 512), 100);
  for (const char* set : {"-2", "many", "2G"}) {
    const EnvironmentVariable size("SION_BUFFERSIZE", set);
    EXPECT_THROW(mode("w"), Error) << set;
  }
  const EnvironmentVariable size("SION_BUFFERSIZE", "100");
  const EnvironmentVariable flags("SHEAF_FLAGS", "buffer=200,posix");
  EXPECT_EQ(mode("w,buffer=300").buffer_bytes, 200) << "our own variable has the last word";
  EXPECT_TRUE(mode("w").posix);
}

TEST(Environment, TheKeyValueModeWhereTheProgramSaysNothing) {
  for (const char* set : {"inline", "SION_KEYVAL_inline", "none,inline"}) {
    const EnvironmentVariable keyval("SION_KEYVALUE_MODE", set);
    EXPECT_EQ(mode("w").keyval, KeyvalMode::inline_) << set;
    EXPECT_EQ(mode("w,keyval=none").keyval, KeyvalMode::none) << "the word has priority";
    EXPECT_EQ(mode("r").keyval, KeyvalMode::not_set) << "what is read says itself what it is";
    EXPECT_EQ(mode("append").keyval, KeyvalMode::not_set);
  }
  for (const auto& [set, found] : {std::pair{"none", KeyvalMode::none},
                                   {"unknown", KeyvalMode::unknown},
                                   {"INLINE", KeyvalMode::not_set},
                                   {"", KeyvalMode::not_set}}) {
    const EnvironmentVariable keyval("SION_KEYVALUE_MODE", set);
    EXPECT_EQ(mode("w").keyval, found) << set;
  }
  for (const char* set : {"meta", "hash"}) {
    const EnvironmentVariable keyval("SION_KEYVALUE_MODE", set);
    EXPECT_THROW(mode("w"), Error) << set;
    EXPECT_EQ(mode("w,keyval").keyval, KeyvalMode::inline_);
  }
}

}  // namespace
}  // namespace sheaf::test::environment_test

#include "base/parse.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/setting.hpp"
#include "base/warnings.hpp"

namespace sheaf::parse_test {
namespace {

TEST(Parse, BytesWithTheUnitsThatPeopleWrite) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"0", 0},        {"4096", 4096},      {"64k", 65536},    {"64K", 65536},
      {"2M", 2 << 20}, {"1G", 1 << 30},     {"3T", 3LL << 40}, {"20MiB", 20 << 20},
      {"5kB", 5000},   {"1GB", 1000000000}, {"8Ki", 8192}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(parse_bytes(text), bytes) << text;
  for (const char* const text :
       {"", "k", "xx", "-1", "+1", "1 k", "2MM", "1.5M", "9223372036854775808", "9000000000G", "4k4"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Parse, NumbersAreNothingButNumbers) {
  EXPECT_EQ(parse_number("-12"), -12);
  EXPECT_EQ(parse_number("9223372036854775807"), INT64_MAX);
  for (const char* const text : {"", "12k", " 12", "1e3", "9223372036854775808"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(Parse, WordsOfAList) {
  std::string_view list = " a , b=1,,c";
  EXPECT_EQ(take_word(list), "a");
  EXPECT_EQ(take_word(list), "b=1");
  EXPECT_EQ(take_word(list), "");
  EXPECT_EQ(take_word(list), "c");
  EXPECT_TRUE(list.empty());
}

TEST(Parse, WordsThatFit) {
  EXPECT_EQ(whole_words("0 12 345", 8), "0 12 345");
  EXPECT_EQ(whole_words("0 12 345", 7), "0 12");
  EXPECT_EQ(whole_words("0 12 345", 4), "0 12");
  EXPECT_EQ(whole_words("0 12 345", 3), "0");
  EXPECT_EQ(whole_words("345", 2), "34");
  EXPECT_EQ(whole_words("", 2), "");
}

// An unrecognized value must be ignored and reported once, with the values that are accepted.
TEST(Setting, ANumberThatIsNoneIsIgnoredAndToldOnce) {
  take_warnings();
  setenv("SHEAF_TEST_SETTING", "foo", 1);
  EXPECT_EQ(number_setting("SHEAF_TEST_SETTING", 1), std::nullopt);
  EXPECT_EQ(number_setting("SHEAF_TEST_SETTING", 1), std::nullopt);
  const auto told = take_warnings();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], "SHEAF_TEST_SETTING='foo' is not understood, and ignored; expected a number from 1 on");
  setenv("SHEAF_TEST_SETTING", "0", 1);
  EXPECT_EQ(number_setting("SHEAF_TEST_SETTING", 1), std::nullopt);
  EXPECT_EQ(take_warnings().size(), 1u) << "another value is told again";
  setenv("SHEAF_TEST_SETTING", " 7 ", 1);
  EXPECT_EQ(number_setting("SHEAF_TEST_SETTING", 1), 7);
  unsetenv("SHEAF_TEST_SETTING");
  EXPECT_EQ(number_setting("SHEAF_TEST_SETTING", 1), std::nullopt);
  EXPECT_FALSE(any_warnings());
}

}  // namespace
}  // namespace sheaf::parse_test

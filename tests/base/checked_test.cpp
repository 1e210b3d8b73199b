// Tests overflow-checked arithmetic, byte order, and the names of error codes.
#include "base/checked.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "base/byte_order.hpp"

namespace sheaf::checked_test {
namespace {

TEST(Checked, SumsAndProductsThatFit) {
  EXPECT_EQ(checked_add(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_mul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_mul(0, INT64_MAX), 0);
}

TEST(Checked, SumsAndProductsThatDoNot) {
  EXPECT_FALSE(checked_add(INT64_MAX, 1));
  EXPECT_FALSE(checked_add(INT64_MIN, -1));
  EXPECT_FALSE(checked_mul(int64_t{1} << 32, int64_t{1} << 31));
}

TEST(Checked, AlignUpGivesTheSmallestMultiple) {
  for (const int64_t unit : {1, 2, 7, 512, 4096})
    for (int64_t x = 0; x < 3 * unit; ++x) {
      const int64_t aligned = align_up(x, unit).value();
      EXPECT_EQ(aligned % unit, 0);
      EXPECT_GE(aligned, x);
      EXPECT_LT(aligned - x, unit);
    }
}

TEST(Checked, AlignUpAtTheEndOfTheRange) {
  EXPECT_EQ(align_up(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(align_up(INT64_MAX - 4095, 4096), INT64_MAX - 4095);
  EXPECT_FALSE(align_up(INT64_MAX - 4094, 4096));
}

TEST(Checked, MustFitNamesWhatDoesNot) {
  EXPECT_EQ(must_fit(5, "it"), 5);
  try {
    must_fit(std::nullopt, "the chunk size");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_STREQ(error.what(), "the chunk size exceeds 2^63 bytes");
  }
}

TEST(ByteOrder, StoresEitherOrderAtAnyAlignment) {
  std::array<std::byte, 16> bytes{};
  store<int32_t>(bytes.data() + 1, 0x01020304, ByteOrder::big);
  EXPECT_EQ(bytes[1], std::byte{1});
  EXPECT_EQ(bytes[4], std::byte{4});
  store<int64_t>(bytes.data() + 5, -2, ByteOrder::little);
  EXPECT_EQ(bytes[5], std::byte{0xfe});
  EXPECT_EQ(bytes[12], std::byte{0xff});
  EXPECT_EQ(load<int32_t>(bytes.data() + 1, ByteOrder::big), 0x01020304);
  EXPECT_EQ(load<int64_t>(bytes.data() + 5, ByteOrder::little), -2);
  EXPECT_EQ(load<int32_t>(bytes.data() + 1, ByteOrder::little), 0x04030201);
}

TEST(Error, OfTheOperatingSystemNamesActionPathAndCause) {
  const Error error = os_error("cannot open", "a.sion", ENOENT);
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_EQ(error.errno_value(), ENOENT);
  EXPECT_STREQ(error.what(), "cannot open 'a.sion': No such file or directory");
}

TEST(Error, CodesFollowErrno) {
  EXPECT_EQ(os_error("", "", ENOTDIR).code(), Code::not_found);
  EXPECT_EQ(os_error("", "", EACCES).code(), Code::permission);
  EXPECT_EQ(os_error("", "", EROFS).code(), Code::permission);
  EXPECT_EQ(os_error("", "", ENOSPC).code(), Code::no_space);
  EXPECT_EQ(os_error("", "", EDQUOT).code(), Code::no_space);
  EXPECT_EQ(os_error("", "", EIO).code(), Code::io);
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::vector<std::string> names;
  for (int code = 0; code <= static_cast<int>(Code::mismatch); ++code)
    names.emplace_back(name_of(static_cast<Code>(code)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace sheaf::checked_test

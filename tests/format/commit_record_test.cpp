#include "format/commit_record.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace sheaf::format::commit_record_test {
namespace {

CommitRecord example() {
  CommitRecord record{.nfiles = 3, .number = 0x0123456789abcdef, .replaced_files = 5};
  record.identity.fill(std::byte{0x11});
  record.replaced.fill(std::byte{0x22});
  return record;
}

TEST(CommitRecord, IsDecodedAsItWasEncoded) {
  const auto bytes = encode(example());
  EXPECT_TRUE(begins_as_commit_record(bytes));
  EXPECT_FALSE(begins_as_multifile(bytes));
  EXPECT_EQ(decode_commit_record(bytes, "a"), example());
}

TEST(CommitRecord, IsNothingElse) {
  EXPECT_EQ(decode_commit_record({}, "a"), std::nullopt);
  EXPECT_EQ(decode_commit_record(std::array<std::byte, 100>{}, "a"), std::nullopt);
}

TEST(CommitRecord, WithAnyFlippedBitIsRefused) {
  const auto bytes = encode(example());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    if (bit < 64)
      EXPECT_EQ(decode_commit_record(flipped, "a"), std::nullopt);
    else
      EXPECT_THROW(decode_commit_record(flipped, "a"), Error) << bit;
  }
  for (size_t size = 8; size < bytes.size(); ++size)
    EXPECT_THROW(decode_commit_record(std::span(bytes).first(size), "a"), Error);
}

TEST(CommitRecord, TemporaryNamesAreReadBack) {
  const std::string name = temporary_name("x/a", 0x1f);
  EXPECT_EQ(name, "x/a.sheaf-tmp.000000000000001f");
  const auto parsed = parse_temporary_name(name);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->target, "x/a");
  EXPECT_EQ(parsed->number, 0x1fu);
  for (const std::string other : {"x/a", "x/a.sheaf-tmp.000000000000001f.000001",
                                  ".sheaf-tmp.000000000000001f", "x/a.sheaf-tmp.000000000000001g"})
    EXPECT_FALSE(parse_temporary_name(other)) << other;
}

}  // namespace
}  // namespace sheaf::format::commit_record_test

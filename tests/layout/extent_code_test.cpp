#include "layout/extent_code.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "base/error.hpp"

namespace sheaf::layout {

static bool operator==(const Run& a, const Run& b) {
  return std::tie(a.offset, a.length, a.stride, a.count) == std::tie(b.offset, b.length, b.stride, b.count);
}

namespace {

using Runs = std::vector<Run>;
using Offsets = std::vector<std::pair<int64_t, int64_t>>;  // offset and length

Offsets pairs_of(const std::vector<Extent>& extents) {
  Offsets pairs;
  for (const Extent& extent : extents) pairs.emplace_back(extent.offset, extent.length);
  return pairs;
}

std::vector<Extent> random_extents(std::mt19937_64& random, int round) {
  std::vector<Extent> extents;
  int64_t at = 0;
  for (auto left = random() % 40; left > 0; --left) {
    const int64_t length = round % 2 ? 8 : 1 + static_cast<int64_t>(random() >> (random() % 40 + 24));
    at += static_cast<int64_t>(round % 3 ? random() % 3 * 100 : random() >> (random() % 40 + 24));
    if (round % 5 == 0) at = static_cast<int64_t>(random() >> 3);  // neither sorted nor disjoint
    extents.push_back({at, length});
    at += length;
  }
  return extents;
}

TEST(ExtentCode, GivesBackEveryList) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Extent> extents = random_extents(random, round);
    const std::vector<std::byte> code = encode_extents(extents);
    EXPECT_LE(code.size(), max_list_code(extents.size()) - 10);
    ASSERT_EQ(pairs_of(decode_extents(code, std::ssize(extents))), pairs_of(extents));
    const Runs runs = decode_runs(code);
    EXPECT_EQ(encode_extents(runs), code) << "the code of runs is unique";
  }
}

TEST(ExtentCode, HasItsPlaceAmongOtherParts) {
  std::vector<std::byte> message;
  append_number(message, 300);
  append_list(message, encode_extents(std::vector<Extent>{{7, 3}}));
  append_list(message, {});
  append_number(message, UINT64_MAX);
  std::span<const std::byte> rest = message;
  EXPECT_EQ(take_number(rest), 300u);
  EXPECT_EQ(pairs_of(decode_extents(take_list(rest), 1)), (Offsets{{7, 3}}));
  EXPECT_TRUE(take_list(rest).empty());
  EXPECT_EQ(take_number(rest), UINT64_MAX);
  EXPECT_TRUE(rest.empty());
}

// Lists that tasks send often, with the sizes of their codes in bytes.
TEST(ExtentCode, IsShort) {
  const auto size = [](const std::vector<Extent>& list) { return encode_extents(list).size(); };
  EXPECT_EQ(size({}), 0u);
  EXPECT_EQ(size({{0, 100}}), 3u);
  EXPECT_EQ(size({{int64_t{1} << 40, 1 << 20}}), 6u + 3 + 1);
  std::vector<Extent> equal;
  for (int64_t i = 0; i < 1000; ++i) equal.push_back({(int64_t{1} << 40) + 4096 * i, 100});
  EXPECT_EQ(size(equal), 6u + 1 + 2 + 2) << "equal distances are encoded once";
  std::vector<Extent> irregular;
  for (int64_t i = 0; i < 1000; ++i) irregular.push_back({100 * i + i % 7, 10 + i % 3});
  EXPECT_LE(size(irregular), 3000u);
}

TEST(ExtentCode, KeepsRunsAsTheyAre) {
  const Runs runs = {{5, 10, 20, 3}, {55, 10, 10, 1}, {0, 4, 4, 7}, {3, 1, INT64_MAX / 4, 4}};
  EXPECT_EQ(decode_runs(encode_extents(runs)), runs);
}

TEST(ExtentCode, TruncatedListsAreRefused) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<Extent> extents = random_extents(random, round);
    extents.push_back({int64_t{1} << 50, 1000});
    const std::vector<std::byte> code = encode_extents(extents);
    std::vector<std::byte> list;
    append_list(list, code);
    for (size_t length = 0; length < list.size(); ++length) {
      std::span<const std::byte> rest = std::span(list).first(length);
      EXPECT_THROW(take_list(rest), Error);
    }
    // A list without a length may be cut between runs only.
    for (size_t length = 0; length < code.size(); ++length) {
      const auto begin = std::span(code).first(length);
      Runs runs;
      try {
        runs = decode_runs(begin);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::damaged);
        continue;
      }
      EXPECT_EQ(encode_extents(runs).size(), length);
    }
  }
}

TEST(ExtentCode, RefusesWhatNoTaskEncodes) {
  const auto code_of = [](std::initializer_list<uint64_t> numbers) {
    std::vector<std::byte> code;
    for (const uint64_t number : numbers) append_number(code, number);
    return code;
  };
  constexpr uint64_t max = INT64_MAX;
  EXPECT_EQ(pairs_of(decode_extents(code_of({max - 1, 1, 1}), 1)), (Offsets{{INT64_MAX - 1, 1}}));
  EXPECT_NO_THROW(decode_runs(code_of({0, 1, max, 0})));
  for (const auto& code : {
           code_of({1}), code_of({1, 0, 1}),  // no bytes
           code_of({1, 1, 0}),                // no extents
           code_of({1, 1, 2}),                // no gap
           code_of({uint64_t(-1), 1, 1}),     // offset -1
           code_of({1, uint64_t(-5), 1}),     // negative numbers
           code_of({1, 1, uint64_t(-5)}),     //
           code_of({1, 1, 2, uint64_t(-1)})   // overlapping extents
       })
    EXPECT_THROW(decode_runs(code), Error);
  EXPECT_THROW(decode_runs(code_of({max, 1, 1})), Error) << "ends at 2^63";
  EXPECT_THROW(decode_runs(code_of({1, max, 1})), Error);
  EXPECT_THROW(decode_runs(code_of({0, 1, 3, max / 2})), Error);
  EXPECT_THROW(decode_runs(code_of({0, 1, max, max})), Error);
  EXPECT_THROW(decode_runs(code_of({0, 1, max / 2, 2})), Error);
  EXPECT_THROW(decode_extents(code_of({0, 1, max, 0}), 1000), Error) << "more extents than allowed";
  EXPECT_THROW(decode_extents(code_of({0, 1, 3, 0, 0, 1, 3, 0}), 5), Error);
  // Numbers with zeros at their end, or of more than 64 bits.
  EXPECT_THROW(decode_runs(std::vector{std::byte{0x81}, std::byte{0}, std::byte{1}, std::byte{1}}), Error);
  std::vector<std::byte> long_number(9, std::byte{0xff});
  for (const int last : {2, 0x81}) {
    std::vector<std::byte> code = long_number;
    code.push_back(static_cast<std::byte>(last));
    code.resize(14, std::byte{1});
    EXPECT_THROW(decode_runs(code), Error) << last;
  }
}

}  // namespace
}  // namespace sheaf::layout

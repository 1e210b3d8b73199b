#include "exchange/transfer/unwritten.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "layout/type_map.hpp"

namespace sheaf::exchange {
namespace {

const Error full(Code::no_space, "no space", ENOSPC);
const Error broken(Code::io, "broken", EIO);

std::string told(const UnwrittenBytes& bytes) {
  const auto problem = bytes.problem("a", 3);
  return problem ? problem->what() : "";
}

TEST(Unwritten, NothingIsMissingAtFirst) { EXPECT_EQ(UnwrittenBytes().problem("a", 3), std::nullopt); }

TEST(Unwritten, TheFirstFailureIsTold) {
  UnwrittenBytes bytes;
  bytes.add(100, 50, full);
  bytes.add(0, 10, broken);
  const auto problem = bytes.problem("a", 3);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code(), Code::no_space);
  EXPECT_EQ(problem->errno_value(), ENOSPC);
  EXPECT_EQ(problem->task(), 3);
  EXPECT_NE(told(bytes).find("'a': bytes 100 to 149 of task 3 are missing: no space"), std::string::npos)
      << told(bytes);
  bytes.remove(100, 50);
  EXPECT_EQ(bytes.problem("a", 3)->code(), Code::io);
  bytes.remove(0, 10);
  EXPECT_EQ(told(bytes), "");
}

TEST(Unwritten, WhatIsBehindTheEndIsNotMissing) {
  UnwrittenBytes bytes;
  bytes.add(100, 50, full);
  bytes.cut(120);
  EXPECT_NE(told(bytes).find("bytes 100 to 119 "), std::string::npos) << told(bytes);
  bytes.cut(100);
  EXPECT_EQ(told(bytes), "");
}

TEST(Unwritten, PiecesOfAnAccessAreMissingAndGapsAreNot) {
  const auto type = layout::TypeMap::vector(3, 10, 100, layout::TypeMap::bytes(1));
  UnwrittenBytes bytes;
  bytes.add({.displacement = 1000, .filetype = &type, .from = 0, .to = 30}, full);
  bytes.remove(1000, 10);
  bytes.remove(1200, 10);
  EXPECT_NE(told(bytes).find("bytes 1100 to 1109 "), std::string::npos) << told(bytes);
  bytes.remove({.displacement = 1000, .filetype = &type, .from = 0, .to = 30});
  EXPECT_EQ(told(bytes), "");
}

// Adds and removes random extents. The result must be the same as in a model, a set of single bytes.
TEST(Unwritten, ExtentsAreThoseOfAModel) {
  UnwrittenBytes bytes;
  std::set<int64_t> model;
  uint32_t state = 1;
  const auto below = [&](uint32_t limit) {
    return static_cast<int64_t>((state = state * 1664525 + 1013904223) / 65536 % limit);
  };
  for (int round = 0; round < 20'000; ++round) {
    const int64_t begin = below(60), length = below(12);
    if (below(2) == 0) {
      bytes.add(begin, length, below(2) == 0 ? full : broken);
      for (int64_t at = begin; at < begin + length; ++at) model.insert(at);
    } else {
      bytes.remove(begin, length);
      for (int64_t at = begin; at < begin + length; ++at) model.erase(at);
    }
    ASSERT_EQ(told(bytes).empty(), model.empty()) << "round " << round;
  }
  for (int64_t at = 0; at < 80; ++at) {  // both sets must become empty with the same byte
    EXPECT_EQ(told(bytes).empty(), model.empty());
    bytes.remove(at, 1);
    model.erase(at);
  }
  EXPECT_EQ(told(bytes), "");
}

TEST(Unwritten, MemoryIsBounded) {
  UnwrittenBytes bytes;
  for (int64_t at = 0; at < 70'000; ++at) bytes.add(2 * at, 1, full);
  EXPECT_NE(told(bytes).find("bytes 0 to "), std::string::npos);
  bytes.remove(0, 2 * 70'000);
  EXPECT_EQ(told(bytes), "");
}

TEST(Unwritten, AWriteOfUnknownBytesIsMissingUntilTheFileIsEmptied) {
  UnwrittenBytes bytes;
  bytes.add_unknown();
  bytes.remove(0, 1 << 20);
  ASSERT_TRUE(bytes.problem("a", 3));
  EXPECT_EQ(bytes.problem("a", 3)->errno_value(), ENOMEM);
  EXPECT_EQ(told(bytes), "'a': bytes of task 3 are missing: a write ran out of memory");
  bytes.cut(1);
  EXPECT_NE(told(bytes), "");
  bytes.cut(0);
  EXPECT_EQ(told(bytes), "");
}

}  // namespace
}  // namespace sheaf::exchange

#include "multifile/collective/pending_extents.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::pending_extents_test {

using namespace multifile;

namespace {

std::vector<std::byte> bytes(size_t count, int first) {
  std::vector<std::byte> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return result;
}

TEST(PendingExtents, WhatGoesOnWhereTheLastEndedIsOneExtent) {
  PendingExtents held;
  held.append(bytes(5, 0), 100);
  held.append(bytes(6, 5), 105);
  held.append({}, 700);
  held.append(bytes(3, 11), 50);
  ASSERT_EQ(held.extents().size(), 2u);
  EXPECT_EQ(held.extents()[0].end(), 111);
  EXPECT_EQ(held.bytes(), 14);
  EXPECT_EQ(held.extents()[1].offset, 50);
  EXPECT_TRUE(std::ranges::equal(held.placed().memory, bytes(14, 0)));
}

TEST(PendingExtents, ThePartAddedLastCanBeDropped) {
  PendingExtents held;
  held.append(bytes(5, 0), 100);
  held.begin_part();
  held.append(bytes(4, 5), 105);
  ASSERT_EQ(held.extents().size(), 2u);
  held.drop_last(1);
  EXPECT_EQ(held.bytes(), 5);
  held.drop_last(7);
  EXPECT_TRUE(held.empty());
}

TEST(PendingExtents, AreJoined) {
  PendingExtents first, second;
  first.append(bytes(2, 0), 0);
  second.append(bytes(3, 2), 2);
  first.append(second);
  EXPECT_TRUE(second.empty());
  EXPECT_EQ(first.extents().size(), 2u);
  EXPECT_EQ(first.weight(), 5 + 2 * int64_t{sizeof(Extent)});
}

}  // namespace
}  // namespace sheaf::pending_extents_test

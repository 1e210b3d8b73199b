#include "layout/aggregators.hpp"

#include <gtest/gtest.h>

namespace sheaf::layout::aggregators_test {
namespace {

using Ranks = std::vector<int>;

const std::vector<int64_t> two_by_four{0, 0, 0, 0, 4, 4, 4, 4};
const std::vector<int64_t> round_robin{0, 1, 2, 0, 1, 2};

TEST(Aggregators, AreSpreadEvenlyAndThoseOfANodeAreNeighbours) {
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 4}), (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 3}), (Ranks{0, 2, 4}));
  EXPECT_EQ(choose_aggregators(round_robin, {.wanted = 6}), (Ranks{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(choose_aggregators(round_robin, {.wanted = 100}), (Ranks{0, 3, 1, 4, 2, 5}));
}

TEST(Aggregators, AreOneForEightTasksOfANodeUnlessGiven) {
  EXPECT_EQ(choose_aggregators(two_by_four, {}), (Ranks{0, 4}));
  EXPECT_EQ(choose_aggregators(std::vector<int64_t>(17, 3), {}), (Ranks{0, 5, 11}));
}

TEST(Aggregators, OfANodeCanBeLimited) {
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 8, .per_node = 2}), (Ranks{0, 2, 4, 6}));
}

TEST(Aggregators, OfSingleNodesCanBeLimited) {
  const std::vector<int64_t> second_only{0, 0, 0, 0, 3, 3, 3, 3};
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 8, .on_nodes = second_only}), (Ranks{4, 5, 6}));
  EXPECT_EQ(choose_aggregators(two_by_four, {.on_nodes = second_only}), (Ranks{4}));
  const std::vector<int64_t> nowhere(8, 0);
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 2, .on_nodes = nowhere}), (Ranks{0}));
}

TEST(Aggregators, AreTheFirstTasksIfNodesDoNotCount) {
  EXPECT_EQ(choose_aggregators(two_by_four, {.wanted = 3, .by_node = false}), (Ranks{0, 1, 2}));
}

TEST(Aggregators, ForSmallOperationsAreSpreadOverTheList) {
  const Ranks all{0, 2, 4, 6};
  EXPECT_EQ(subset_of(all, 2), (Ranks{0, 4}));
  EXPECT_EQ(subset_of(all, 4), all);
}

}  // namespace
}  // namespace sheaf::layout::aggregators_test

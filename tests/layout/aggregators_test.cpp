#include "layout/aggregators.hpp"

#include <gtest/gtest.h>

namespace sheaf::layout::aggregators_test {
namespace {

using Counts = std::vector<int64_t>;

// Returns hosts of eight tasks each, without known I/O nodes, with `most` as limits of their aggregators.
std::vector<AggregatorHost> hosts(const Counts& most) {
  std::vector<AggregatorHost> all;
  for (const int64_t one : most) all.push_back({-1, 8, one});
  return all;
}

TEST(Aggregators, AreSpreadEvenlyOverTheHosts) {
  EXPECT_EQ(spread_aggregators(hosts({4, 4}), 4), (Counts{2, 2}));
  EXPECT_EQ(spread_aggregators(hosts({4, 4}), 3), (Counts{2, 1}));
  EXPECT_EQ(spread_aggregators(hosts({4, 4}), 100), (Counts{4, 4}));
  EXPECT_EQ(spread_aggregators(hosts({4, 4, 4}), 0), (Counts{1, 1, 1}));
}

TEST(Aggregators, FewerThanHostsAreSpreadToo) {
  EXPECT_EQ(spread_aggregators(hosts({4, 4, 4, 4}), 2), (Counts{1, 0, 1, 0}));
  EXPECT_EQ(spread_aggregators(hosts({4, 4, 4, 4, 4, 4}), 3), (Counts{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(spread_aggregators(hosts({1, 0, 0, 1, 1, 0}), 2), (Counts{1, 0, 0, 1, 0, 0}));
}

TEST(Aggregators, StayWithinWhatHostsMayHave) {
  EXPECT_EQ(spread_aggregators(hosts({1, 4}), 4), (Counts{1, 3}));
  EXPECT_EQ(spread_aggregators(hosts({0, 3}), 8), (Counts{0, 3}));
  EXPECT_EQ(spread_aggregators(hosts({0, 3}), 0), (Counts{0, 1}));
  EXPECT_EQ(spread_aggregators(hosts({0, 0}), 2), (Counts{1, 0})) << "somebody has to";
}

TEST(Aggregators, OfAnIoNodeAreOnItsHosts) {
  // There are two I/O nodes, each with two hosts of sixteen tasks.
  const std::vector<AggregatorHost> all{{0, 16, 4}, {0, 16, 4}, {1, 16, 4}, {1, 16, 4}};
  EXPECT_EQ(spread_aggregators(all, 2), (Counts{1, 0, 1, 0}));
  EXPECT_EQ(spread_aggregators(all, 0), (Counts{4, 4, 4, 4})) << "eight of an I/O node";
}

// The Blue Gene/L paper: an I/O node reaches its peak rate with 8 to 16 nodes at work.
TEST(Aggregators, OfAnIoNodeAreUpToEight) {
  const std::vector<AggregatorHost> rich(8, {3, 1, 1});
  EXPECT_EQ(spread_aggregators(rich, 0), Counts(8, 1)) << "8 nodes of an I/O node";
  const std::vector<AggregatorHost> usual(64, {3, 1, 1});
  const Counts found = spread_aggregators(usual, 0);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i % 8 == 0) << "64 nodes of an I/O node";
  const std::vector<AggregatorHost> few{{5, 2, 2}, {5, 2, 2}, {6, 2, 1}};
  EXPECT_EQ(spread_aggregators(few, 0), (Counts{2, 2, 1}));
}

TEST(Aggregators, OnFirstHostsAreAsMany) {
  EXPECT_EQ(on_first_hosts(hosts({4, 4, 4, 4}), Counts{1, 0, 1, 0}), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(on_first_hosts(hosts({4, 1, 4}), Counts{3, 1, 3}), (Counts{3, 1, 3}));
  EXPECT_EQ(on_first_hosts(hosts({4, 1, 0, 4}), Counts{1, 1, 0, 2}), (Counts{2, 1, 0, 1}));
  EXPECT_EQ(on_first_hosts(hosts({0, 0}), Counts{1, 0}), (Counts{1, 0})) << "one host has to";
}

}  // namespace
}  // namespace sheaf::layout::aggregators_test

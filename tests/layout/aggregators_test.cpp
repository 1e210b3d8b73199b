#include "layout/aggregators.hpp"

#include <gtest/gtest.h>

namespace sheaf::layout::aggregators_test {
namespace {

using Counts = std::vector<int64_t>;

// Returns hosts of eight tasks each, with separate I/O nodes and `most` as limits of their aggregators.
std::vector<AggregatorHost> hosts(const Counts& most) {
  std::vector<AggregatorHost> all;
  for (const int64_t one : most) all.push_back({std::ssize(all), 8, one});
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
  EXPECT_EQ(spread_aggregators(all, 0), (Counts{2, 2, 2, 2}));
  // The hosts are small, so the I/O node must get one set, and not each host.
  const std::vector<AggregatorHost> small{{5, 2, 2}, {5, 2, 2}, {5, 2, 2}, {5, 2, 2}};
  EXPECT_EQ(spread_aggregators(small, 0), (Counts{1, 0, 0, 0}));
}

}  // namespace
}  // namespace sheaf::layout::aggregators_test

#include "layout/collective.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace sheaf::layout::collective_test {
namespace {

std::vector<int64_t> firsts(const std::vector<int64_t>& requests, int64_t average) {
  GroupPass pass;
  std::vector<int64_t> result;
  for (size_t t = 0; t < requests.size(); ++t)
    result.push_back(pass.add(static_cast<int64_t>(t), requests[t], average));
  return result;
}

TEST(CollectiveLayout, AverageOfACollector) {
  EXPECT_EQ(bytes_per_collector(0, 4, 512, 2), 0);
  EXPECT_EQ(bytes_per_collector(1200, 6, 256, 3), 768);    // two collectors
  EXPECT_EQ(bytes_per_collector(200, 2, 64, 2), 256);      // one
  EXPECT_EQ(bytes_per_collector(1200, 6, 4096, 3), 4096);  // more collectors than blocks
  EXPECT_EQ(bytes_per_collector(64 * 4096, 64, 4096, 0), 8 * 4096);
  EXPECT_EQ(bytes_per_collector(1024 * 4096, 1024, 4096, 0), 32 * 4096);
  EXPECT_EQ(bytes_per_collector(15 * 4096, 15, 4096, 0), 4096);
  EXPECT_THROW(bytes_per_collector(INT64_MAX, 3, 1 << 20, 3), Error);
}

TEST(CollectiveLayout, GroupsAreFilledInOrder) {
  EXPECT_EQ(firsts({200, 200, 200, 200, 200, 200}, 768), (std::vector<int64_t>{0, 0, 0, 3, 3, 3}));
  EXPECT_EQ(firsts({0, 0, 900, 0, 10}, 512), (std::vector<int64_t>{0, 0, 2, 3, 3}));
  EXPECT_EQ(firsts({0, 0}, 0), (std::vector<int64_t>{0, 0}));
}

TEST(CollectiveLayout, ATaskThatOnlySendsNeverBeginsAGroup) {
  GroupPass pass;
  EXPECT_EQ(pass.add(0, 500, 512), 0);
  EXPECT_EQ(pass.add(1, 500, 512, GroupPass::Begins::first_task), 0);
  EXPECT_EQ(pass.add(2, 500, 512), 2);
}

TEST(CollectiveLayout, AlignmentOfAFileThatNobodyShares) {
  EXPECT_EQ(unshared_alignment(1000, 2 << 20), 4096);
  EXPECT_EQ(unshared_alignment(2 << 20, 2 << 20), 4096);
  EXPECT_EQ(unshared_alignment((2 << 20) + 1, 2 << 20), 2 << 20);
  EXPECT_EQ(unshared_alignment(0, 512), 512);
  EXPECT_EQ(unshared_alignment(0, 4096), 4096);
}

TEST(CollectiveLayout, TheWayBackCompletesGroups) {
  const std::vector<int64_t> requests{0, 0, 900, 0, 10};
  GroupPass pass;
  std::vector<GroupPlace> places;
  for (int64_t t = 0; t < 5; ++t) {
    const int64_t first = pass.add(t, requests[static_cast<size_t>(t)], 512);
    places.push_back({first, 0, pass.filled, pass.number, 0});
  }
  GroupPassBack back;
  for (int64_t t = 4; t >= 0; --t) back.complete(t, places[static_cast<size_t>(t)]);
  const std::vector<std::vector<int64_t>> expected{
      {0, 2, 0, 0}, {0, 2, 0, 0}, {2, 1, 900, 1}, {3, 2, 10, 2}, {3, 2, 10, 2}};
  for (size_t t = 0; t < 5; ++t) {
    EXPECT_EQ((std::vector<int64_t>{places[t].first, places[t].size, places[t].sum, places[t].number}),
              expected[t]);
    EXPECT_EQ(places[t].count, 3);
  }
}

TEST(CollectiveLayout, CollectorsTakeTheirShareOfTheNodes) {
  const std::vector<int64_t> dealt{0, 1, 2, 3};  // a task on each host
  for (int64_t file = 0; file < 4; ++file)
    EXPECT_EQ(choose_collector(dealt, 4, {0, 4, 0, 0, 1}, file, 4), file);
  for (int64_t group = 0; group < 8; ++group)
    EXPECT_EQ(choose_collector(dealt, 4, {0, 4, 0, group, 8}, 0, 1), group / 2);
  EXPECT_EQ(choose_collector(std::vector<int64_t>{5, 5, 6, 6}, 10, {0, 4, 0, 9, 10}, 0, 1), 2);
  EXPECT_EQ(choose_collector(std::vector<int64_t>{7}, 10, {0, 1, 0, 0, 1}, 0, 1), 0);
}

TEST(CollectiveLayout, ChunkSizes) {
  EXPECT_EQ(packed_chunk(200, 600, false, 256), 200);
  EXPECT_EQ(packed_chunk(200, 600, true, 256), 368);
  EXPECT_EQ(merged_chunk(200, 600, true, 256), 768);
  EXPECT_EQ(merged_chunk(200, 600, false, 256), 256);
  EXPECT_EQ(packed_chunk(0, 0, true, 256), 0);
  EXPECT_THROW(packed_chunk(5, INT64_MAX, true, 4096), Error);
}

TEST(CollectiveLayout, RenumberedTasksFillFilesWithoutGaps) {
  EXPECT_EQ(renumber(1, 4, 1, 2, {1}).local_rank, 2);
  EXPECT_EQ(renumber(2, 4, 1, 2, {2}).local_rank, 1);
  for (const int files : {1, 2, 3})
    for (const int tasks : {2, 4}) {
      const int n = 5 * files * tasks;
      std::map<int, std::set<int>> places;
      for (int t = 0; t < n; ++t) {
        const Placement place = renumber(t, n, files, tasks, {t});
        places[place.file].insert(place.local_rank);
        EXPECT_EQ(place.local_rank % tasks == 0, t < n / tasks);
      }
      ASSERT_EQ(std::ssize(places), files);
      for (const auto& [file, ranks] : places) {
        EXPECT_EQ(std::ssize(ranks), n / files);
        EXPECT_EQ(*ranks.rbegin(), n / files - 1);
      }
    }
  EXPECT_THROW(renumber(0, 5, 1, 2, {}), Error);
  EXPECT_THROW(renumber(0, 4, 1, 1, {}), Error);
  EXPECT_THROW(renumber(0, 4, 0, 2, {}), Error);
}

// Only tasks 1, 3, 4 and 5 may become collectors. Two of them must get the local ranks of collectors.
TEST(CollectiveLayout, OnlyCandidatesBecomeCollectors) {
  const bool may[] = {false, true, false, true, true, true};
  const int expected[] = {1, 0, 2, 3, 4, 5};
  int before = 0;
  for (int t = 0; t < 6; ++t) {
    EXPECT_EQ(renumber(t, 6, 1, 3, {before, may[t]}).local_rank, expected[t]) << t;
    before += may[t];
  }
}

}  // namespace
}  // namespace sheaf::layout::collective_test

#include "layout/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "layout/boundary_map.hpp"

namespace sheaf::layout {
namespace {

struct TaskRun {
  int64_t host;
  std::vector<int64_t> chunks;
};

std::vector<GroupPlace> places_of(const std::vector<TaskRun>& runs) {
  std::vector<GroupPlace> places;
  int64_t task = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    GroupPlace place{task, std::ssize(runs[r].chunks), 0, static_cast<int64_t>(r), std::ssize(runs)};
    for (const int64_t chunk : runs[r].chunks) place.sum += chunk;
    task += place.size;
    places.push_back(place);
  }
  return places;
}

std::vector<TaskRun> random_runs(std::mt19937_64& random, bool some_empty) {
  std::vector<TaskRun> runs(2 + random() % 5);
  for (size_t r = 0; r < runs.size(); ++r) {
    runs[r].host = static_cast<int64_t>(r);
    for (size_t t = 1 + random() % 4; t > 0; --t)
      runs[r].chunks.push_back(some_empty && random() % 4 == 0 ? 0
                                                               : static_cast<int64_t>(random() % 200'000));
  }
  return runs;
}

// With enlarged chunks, no block of the shared granularity may hold bytes of two runs of tasks in any round.
// The block with the end of the header may hold only bytes of the first host.
TEST(Regions, EnlargedRunsBeginAndEndAtUnits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    const std::vector<TaskRun> runs = random_runs(random, true);
    const auto places = places_of(runs);
    const int64_t unit = int64_t{4096} << random() % 6;
    const int64_t data_start = 1088 + static_cast<int64_t>(random() % 100'000);
    std::vector<RegionChunk> chunks;
    std::vector<int64_t> owners;
    int64_t task = 0;
    for (size_t r = 0; r < runs.size(); ++r)
      for (const int64_t chunk : runs[r].chunks) {
        chunks.push_back(enlarged_chunk(task++, chunk, places[r], data_start, unit));
        owners.push_back(runs[r].host);
        EXPECT_GE(chunks.back().usable, chunk);
        EXPECT_LE(chunks.back().size, chunk + 2 * unit);
      }
    int64_t at = data_start;
    std::map<int64_t, int64_t> owner_of_unit{{(data_start - 1) / unit, 0}};
    for (int round = 0; round < 3; ++round)
      for (size_t t = 0; t < chunks.size(); ++t) {
        for (int64_t u = at / unit; chunks[t].usable > 0 && u <= (at + chunks[t].usable - 1) / unit; ++u) {
          const auto [known, is_new] = owner_of_unit.emplace(u, owners[t]);
          ASSERT_EQ(known->second, owners[t]) << "unit " << u << " in case " << i;
        }
        at += chunks[t].size;
      }
  }
}

TEST(Regions, OnlyTheLastChunkOfARunGrows) {
  const GroupPlace run{2, 3, 10'000, 1, 3};
  EXPECT_EQ(enlarged_chunk(3, 777, run, 4096, 4096).size, 777);
  EXPECT_EQ(enlarged_chunk(4, 777, run, 4096, 4096).size, 777 + 2288);
}

// Without enlarged chunks, all bytes outside of boundary blocks must be in blocks of the shared granularity
// that have bytes of one run only. The boundary blocks must be minimal.
TEST(BoundaryMap, PartsBesideBoundaryBlocksAreWholeUnitsOfOneRun) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300; ++i) {
    const std::vector<TaskRun> runs = random_runs(random, true);
    const int64_t unit = int64_t{512} << random() % 8;
    int64_t skip = 0;
    for (const TaskRun& run : runs)
      for (const int64_t chunk : run.chunks) skip += chunk;
    const int64_t data_start = 1088 + static_cast<int64_t>(random() % 10'000);
    if (skip == 0) continue;
    std::vector<BoundaryExtent> ranges;  // ranges of all tasks
    int64_t at = data_start;
    for (const TaskRun& run : runs) {
      int64_t end = at;
      for (const int64_t chunk : run.chunks) end += chunk;
      const int64_t begin = at;
      for (size_t t = 0; t < run.chunks.size(); ++t)
        ranges.push_back({begin, end, 0, static_cast<size_t>(run.host)});
      at = end;
    }
    std::shuffle(ranges.begin(), ranges.end(), random);
    const BoundaryMap map(unit, data_start, skip, ranges);
    std::map<int64_t, size_t> owner_of_unit;
    std::vector<int64_t> edges(runs.size());
    int64_t covered = data_start;
    map.for_each_part(data_start, 3 * skip,
                      [&](int64_t offset, int64_t length, const BoundaryMap::EdgeMapEntry& part) {
                        EXPECT_EQ(offset, covered);
                        covered += length;
                        if (part.is_boundary) {
                          edges[part.place] += length;
                          return true;
                        }
                        EXPECT_EQ(offset % unit, 0) << "case " << i;
                        EXPECT_EQ(length % unit, 0) << "case " << i;
                        for (int64_t u = offset / unit; u < (offset + length) / unit; ++u)
                          EXPECT_TRUE(owner_of_unit.emplace(u, part.place).second);
                        return true;
                      });
    EXPECT_EQ(covered, data_start + 3 * skip);
    for (const int64_t bytes : edges) EXPECT_LT(bytes, 3 * 2 * unit);
  }
}

TEST(BoundaryMap, HeadersAndGapsAreNoBoundaryBlocks) {
  EXPECT_FALSE(BoundaryMap().part_at(12345).is_boundary);
  const BoundaryMap map(4096, 8192, 10'000, {{9000, 9100, 0, 7}, {9000, 9100, 0, 7}});
  EXPECT_FALSE(map.part_at(0).is_boundary);
  EXPECT_EQ(map.part_at(0).end, 8192);
  EXPECT_EQ(map.part_at(8192).end, 9000);
  EXPECT_TRUE(map.part_at(9050).is_boundary);
  EXPECT_EQ(map.part_at(9050).end, 9100);
  EXPECT_EQ(map.part_at(9050).place, 7u);
  EXPECT_FALSE(map.part_at(9100).is_boundary);
  EXPECT_EQ(map.part_at(9100).end, 19'000);
  EXPECT_TRUE(map.part_at(19'050).is_boundary);
}

TEST(Regions, GrowByAQuarterAndAUnitPerHost) {
  EXPECT_TRUE(may_grow(25, 100, 0, 4096));
  EXPECT_FALSE(may_grow(26, 100, 0, 4096));
  EXPECT_TRUE(may_grow(25 + 8192, 100, 2, 4096));
  EXPECT_FALSE(may_grow(26 + 8192, 100, 2, 4096));
  EXPECT_TRUE(may_grow(INT64_MAX, 100, INT64_MAX, 4096));
}

}  // namespace
}  // namespace sheaf::layout

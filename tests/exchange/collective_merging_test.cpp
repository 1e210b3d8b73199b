// Which calls exchange data, over random accesses of a few tasks (exchange/collective_planner).
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "exchange/collective_planner.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/planner_tasks.hpp"

namespace sheaf::exchange::collective_merging_test {
namespace {

using namespace planner_tasks;

TEST(CollectiveMerging, RangesThatDoNotOverlapAreNotMerged) {
  for_random([](PlannerRandom& random) {
    std::vector<Part> parts;
    const int64_t piece = random.in(1, 16 * KiB), count = random.in(2, 8);
    for (int64_t task = 0; task < count; ++task)
      parts.push_back({task * MiB, piece, 2 * piece, random.in(10, 20)});
    Tasks tasks(parts);
    CollectiveOptions how;
    const CallSummary one = tasks.summarize(how, false);
    EXPECT_EQ(CollectivePlanner::merge_reads(one, how, tasks.one_host(how)), Merging::none);
    EXPECT_EQ(CollectivePlanner::merge_writes(one, how, tasks.one_host(how)), Merging::none);
    how.exchange = Buffering::enabled;
    EXPECT_EQ(CollectivePlanner::merge_writes(one, how, tasks.one_host(how)), Merging::all);
  });
}

TEST(CollectiveMerging, VerySparseRangesAreNotMergedEvenOnRequest) {
  for (const int64_t count : {100, 600}) {
    Tasks tasks({{0, 1, 64 * KiB, count}, {32 * KiB, 1, 64 * KiB, count}});
    CollectiveOptions how;
    how.exchange = Buffering::enabled;
    const CallSummary one = tasks.summarize(how, false);
    const Merging expected = one.range() > 32 * MiB ? Merging::none : Merging::all;
    EXPECT_EQ(CollectivePlanner::merge_reads(one, how, tasks.one_host(how)), expected);
    EXPECT_EQ(CollectivePlanner::merge_writes(one, how, tasks.one_host(how)), expected);
  }
}

TEST(CollectiveMerging, InterleavedDenseRangesAreMerged) {
  for_random([](PlannerRandom& random) {
    const int64_t count = random.in(2, 6), piece = random.in(1, 8 * KiB), begin = random.in(0, MiB);
    std::vector<Part> parts;
    for (int64_t task = 0; task < count; ++task)
      parts.push_back({begin + task * piece, piece, count * piece, 40 + random.in(0, 2)});
    Tasks tasks(parts);
    for (const bool several_hosts : {false, true}) {
      CollectiveOptions how;
      how.block = 1;
      const CallSummary summary = tasks.summarize(how, several_hosts);
      const PoolFacts pool = several_hosts ? PoolFacts{true, usual_window} : tasks.one_host(how);
      EXPECT_EQ(CollectivePlanner::merge_reads(summary, how, pool), Merging::all);
      EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::all);
    }
  });
}

// Small gaps are read along. Where gaps are worth a request of their own, the density of the extents decides.
TEST(CollectiveMerging, RangesWithLargeGapsAreMergedIfTheyAreDenseEnough) {
  for_random([](PlannerRandom& random) {
    const bool small = random.in(0, 1);
    const int64_t piece = small ? random.in(1, 100) : random.in(8 * KiB, 14 * KiB),
                  pieces_of_stride = random.in(0, 1) ? 6 : 40;
    const int64_t stride = pieces_of_stride * piece, count = random.in(40, 60);
    Tasks tasks({{0, piece, stride, count}, {2 * piece, piece, stride, count}});
    CollectiveOptions how;
    how.block = 1;
    const CallSummary summary = tasks.summarize(how, false);
    const Merging expected = small || pieces_of_stride == 6 ? Merging::all : Merging::none;
    EXPECT_EQ(CollectivePlanner::merge_reads(summary, how, tasks.one_host(how)), expected);
    EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, tasks.one_host(how)), expected);
  });
}

// If hosts have caches of their own, writes of parts of units go through one writer, unless exclusive extents
// make that certain, or the range is so long that it would need too many windows.
TEST(CollectiveMerging, PartsOfUnitsHaveOneWriter) {
  for_random([](PlannerRandom& random) {
    const int64_t count = random.in(2, 6), piece = random.in(32 * KiB, 64 * KiB);
    std::vector<Part> separate, interleaved;
    for (int64_t task = 0; task < count; ++task) {
      separate.push_back({task * 10 * piece, piece, piece, 10});
      interleaved.push_back({task * piece, piece, count * piece, 10});
    }
    const PoolFacts pool{true, MiB};
    for (const auto& [parts, expected] :
         {std::pair(separate, Merging::unless_exclusive), std::pair(interleaved, Merging::all)}) {
      Tasks tasks(parts);
      CollectiveOptions how;
      how.unit = 64 * KiB;
      CallSummary summary = tasks.summarize(how);
      EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), expected);
      how.exchange = Buffering::enabled;
      EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::all);
      summary.facts.high = summary.facts.low + max_windows * MiB;
      EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::none);
    }
  });
}

}  // namespace
}  // namespace sheaf::exchange::collective_merging_test

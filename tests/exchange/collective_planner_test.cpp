// Properties of paths, plans, windows and tokens of a collective transfer, over random accesses of a few
// tasks. collective_merging_test.cpp tests which calls exchange data.
#include "exchange/collective_planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/coverage.hpp"
#include "exchange/planner_tasks.hpp"

namespace sheaf::exchange::collective_planner_test {
namespace {

using namespace planner_tasks;

TEST(CollectivePlanner, SummaryCoversEveryTask) {
  for_random([](PlannerRandom& random) {
    Tasks tasks(random.parts());
    const CallSummary summary = tasks.summarize({});
    int64_t bytes = 0, low = unlimited, high = -1;
    for (size_t task = 0; task < tasks.size(); ++task) {
      const FileAccess access = tasks.access(task);
      if (access.bytes() <= 0) continue;
      bytes += access.bytes();
      low = std::min(low, access.low());
      high = std::max(high, access.high());
    }
    EXPECT_EQ(summary.is_empty(), bytes == 0);
    EXPECT_EQ(summary.range(), bytes == 0 ? 0 : high - low);
    EXPECT_GE(summary.bytes, bytes) << "totals are upper estimates";
    if (bytes > 0) {
      EXPECT_EQ(summary.facts.low, low);
      EXPECT_EQ(summary.facts.high, high);
    }
  });
}

// A plan applies again if and only if every task repeats its access with the same options.
TEST(CollectivePlanner, KeepsAPlanWhileEveryTaskRepeatsItsAccess) {
  for_random([](PlannerRandom& random) {
    std::vector<Part> parts = random.parts();
    const auto one = static_cast<size_t>(random.in(0, std::ssize(parts) - 1));
    parts[one].count = random.in(1, 20);
    Tasks tasks(parts);
    CollectiveOptions how;
    EXPECT_TRUE(tasks.summarize(how).facts.differs);
    for (size_t task = 0; task < tasks.size(); ++task) tasks.planner(task).note_plan();
    EXPECT_FALSE(tasks.summarize(how).facts.differs);
    for (size_t task = 0; task < tasks.size(); ++task) EXPECT_TRUE(tasks.planner(task).is_planned());
    const auto expect_no_plan = [&](const CollectiveOptions& with, const char* why) {
      EXPECT_TRUE(tasks.summarize(with).facts.differs) << why;
      for (size_t task = 0; task < tasks.size(); ++task)
        EXPECT_FALSE(tasks.planner(task).is_planned()) << why;
      EXPECT_TRUE(!with.switches.reuse || !tasks.summarize(with).facts.differs) << why;
      for (size_t task = 0; task < tasks.size(); ++task) tasks.planner(task).note_plan();
    };
    ++parts[one].begin;
    tasks.set_part(one, parts[one]);
    expect_no_plan(how, "another displacement of one task");
    ++parts[one].count;
    tasks.set_part(one, parts[one]);
    expect_no_plan(how, "another end of one task");
    ++parts[one].stride;
    tasks.set_part(one, parts[one]);
    expect_no_plan(how, "another file type of one task");
    how.buffer = 64 * KiB;
    expect_no_plan(how, "another buffer");
    how.unit = 64 * KiB;
    expect_no_plan(how, "another unit");
    tasks.planner(one).forget();
    expect_no_plan(how, "a task has failed");
    how.switches.reuse = false;
    expect_no_plan(how, "switched off");
  });
}

TEST(CollectivePlanner, TheCoverageIsThatOfTheLastAccess) {
  for_random([](PlannerRandom& random) {
    Part part = random.part();
    part.count = random.in(1, 20);
    Tasks tasks({part, random.part()});
    const auto expect_coverage = [&](const char* when) {
      tasks.summarize({});
      const FileAccess access = tasks.access(0);
      EXPECT_EQ(tasks.planner(0).coverage_of(access), coverage(access, access.from, access.to)) << when;
    };
    expect_coverage("the first access");
    expect_coverage("the same access");
    for (int64_t* const changed : {&part.begin, &part.count, &part.stride}) {
      ++*changed;
      tasks.set_part(0, part);
      expect_coverage("another access");
    }
  });
}

TEST(CollectivePlanner, AFailedCallIsForgottenByAllTasks) {
  Tasks tasks({{0, 10, 20, 5}, {10, 10, 20, 5}});
  tasks.summarize({});
  CallFacts facts = combined(tasks.planner(0).begin(tasks.access(0), {}), tasks.planner(1).begin({}, {}));
  facts.failed = true;
  for (size_t task = 0; task < 2; ++task) tasks.planner(task).summarize(facts);
  EXPECT_TRUE(tasks.planner(0).begin(tasks.access(0), {}).differs);
  EXPECT_TRUE(tasks.planner(1).begin(tasks.access(1), {}).differs);
}

TEST(CollectivePlanner, SwitchesDecideThePath) {
  for_random([](PlannerRandom& random) {
    const Tasks tasks(random.parts());
    const FileAccess access = tasks.access(0);
    const CollectivePlanner planner(4), single(1);
    CollectiveOptions enabled, disabled, locked;
    enabled.exchange = locked.exchange = Buffering::enabled;
    disabled.exchange = Buffering::disabled;
    locked.independent.locked = true;
    const bool works = access.bytes() > 0;
    const IoPath alone = works ? IoPath::independent : IoPath::collective;
    const IoPath later = works ? IoPath::independent_after_publish : IoPath::collective;
    EXPECT_EQ(planner.write_path(access, enabled), IoPath::collective);
    EXPECT_EQ(planner.write_path(access, disabled), alone);
    EXPECT_EQ(planner.write_path(access, locked), alone);
    EXPECT_EQ(single.write_path(access, enabled), alone);
    EXPECT_EQ(planner.read_path(access, enabled, ReadSource::shared_cache), IoPath::collective);
    EXPECT_EQ(planner.read_path(access, disabled, ReadSource::shared_cache), alone);
    EXPECT_EQ(planner.read_path(access, disabled, ReadSource::other_hosts), later);
    EXPECT_EQ(planner.read_path(access, locked, ReadSource::other_hosts), alone);
    EXPECT_EQ(planner.read_path(access, enabled, ReadSource::own_writes), alone);
    EXPECT_EQ(single.read_path(access, enabled, ReadSource::other_hosts), later);
  });
}

// An access needs no other task if its extents are large, or if it is a single extent that fills two thirds
// of the blocks that it touches.
TEST(CollectivePlanner, LargeAndSingleExtentsNeedNoOtherTask) {
  for_random([](PlannerRandom& random) {
    const Tasks tasks(random.parts());
    for (size_t task = 0; task < tasks.size(); ++task) {
      const FileAccess access = tasks.access(task);
      if (access.bytes() <= 0) continue;
      const CollectivePlanner planner(2);
      const int64_t mean = access.bytes() / access.pieces();
      const Part& part = tasks.part(task);
      const bool contiguous = part.piece == part.stride || part.count == 1;
      CollectiveOptions how;
      how.block = int64_t{1} << random.in(0, 16);
      const int64_t blocks = (part.begin + access.bytes() - 1) / how.block - part.begin / how.block + 1;
      const bool single = contiguous && blocks * how.block <= access.bytes() + access.bytes() / 2;
      EXPECT_EQ(planner.write_path(access, how) == IoPath::independent,
                single || mean >= piece_worth_a_write);
      EXPECT_EQ(planner.read_path(access, how, ReadSource::shared_cache) == IoPath::independent,
                single || mean >= piece_worth_a_read);
      // If hosts have caches of their own, only whole units count, and reads always exchange.
      CollectiveOptions units;
      units.unit = int64_t{1} << random.in(0, 16);
      const int64_t piece = contiguous ? access.bytes() : part.piece;
      const bool whole = part.begin % units.unit == 0 && piece % units.unit == 0 &&
                         (contiguous || part.stride % units.unit == 0);
      EXPECT_EQ(planner.write_path(access, units) == IoPath::independent, whole);
      EXPECT_EQ(planner.read_path(access, units, ReadSource::other_hosts), IoPath::collective);
    }
  });
}

// An exclusive extent lets a task write independently as long as its access stays inside and has no gaps. It
// ends for all tasks when one writes outside of its own.
TEST(CollectivePlanner, AnExclusiveExtentLastsUntilATaskWritesOutside) {
  for_random([](PlannerRandom& random) {
    const int64_t unit = 64 * KiB, begin = random.in(0, 100) * unit, end = begin + random.in(1, 4) * unit;
    CollectiveOptions how;
    how.unit = unit;
    const int64_t from = begin + random.in(-2, 2) * 100, length = random.in(1, 5 * unit);
    const Tasks task({{std::max<int64_t>(from, 0), length, length, 1}});
    const FileAccess access = task.access(0);
    const bool inside = access.low() >= begin && access.high() <= end;
    CollectivePlanner planner(2);
    EXPECT_FALSE(planner.keeps_exclusive(access)) << "no task has agreed";
    EXPECT_EQ(planner.set_exclusive(access, Extent::between(begin, end)), inside);
    EXPECT_EQ(planner.keeps_exclusive(access), inside);
    if (inside) {
      EXPECT_EQ(planner.write_path(access, how), IoPath::independent);
    }
    CallFacts facts = planner.begin({}, how);
    planner.summarize(facts);
    EXPECT_EQ(planner.keeps_exclusive(access), inside);
    facts.outside = true;
    planner.summarize(facts);
    EXPECT_FALSE(planner.keeps_exclusive(access));
  });
  const Tasks sparse({{0, 10, 100, 100}});
  CollectivePlanner planner(2);
  planner.set_exclusive(sparse.access(0), {0, MiB});
  EXPECT_FALSE(planner.keeps_exclusive(sparse.access(0))) << "others may have extents in the gaps";
}

// Windows cover the range exactly once; within a call, each unit has one aggregator.
TEST(CollectivePlanner, WindowsCoverTheRangeAndKeepTheAggregatorsOfUnits) {
  for_random([](PlannerRandom& random) {
    CollectiveOptions how;
    how.unit = random.in(0, 2) * 64 * KiB * random.in(1, 8);
    how.buffer = random.in(0, 1) * random.in(128 * KiB, 2 * MiB);
    const int64_t aggregators = random.in(1, 5);
    const auto shape = shape_between_hosts(how, aggregators, 1, unlimited);
    ASSERT_GT(shape.window, 0);
    const auto call = [&] {
      CallFacts facts;
      facts.low = random.in(0, 64 * MiB);
      facts.high = facts.low + random.in(1, 64 * MiB);
      return CallSummary(facts, 4);
    };
    for (int i = 0; i < 3; ++i) {
      const CallSummary summary = call();
      const Windows windows = CollectivePlanner::windows(summary, how, shape.window, aggregators);
      EXPECT_LE(windows.size, shape.window);
      const int64_t unit = windows.size * windows.per_unit;
      if (how.unit > 0) {
        EXPECT_EQ(unit % how.unit, 0) << "a unit has one aggregator";
      }
      int64_t bytes = 0, misplaced = 0;
      for (int64_t number = 0; number < windows.count(); ++number) {
        const int64_t place = windows.place(number), offset = windows.first + place * windows.size;
        bytes += windows.end(place) - windows.begin(place);
        misplaced += number % aggregators != offset / unit % aggregators;
      }
      EXPECT_EQ(bytes, summary.range());
      EXPECT_EQ(misplaced, 0) << "the aggregator of a unit does not depend on where the range begins";
    }
  });
}

// Reads and writes of a file may have different units, but they share a pool.
TEST(CollectivePlanner, WindowsMatchTheUnitInAPoolThatIsMadeForAnother) {
  for (const int64_t unit : {256 * KiB, MiB, 64 * MiB})
    for (int64_t aggregators = 1; aggregators <= 16; ++aggregators) {
      CollectiveOptions reads, writes;
      reads.unit = 64 * KiB;
      writes.unit = unit;
      CallFacts facts;
      facts.low = 0;
      facts.high = 1024 * MiB;
      const int64_t pool = shape_between_hosts(reads, aggregators, 1, facts.high).window;
      const Windows windows = CollectivePlanner::windows(CallSummary(facts, 4), writes, pool, aggregators);
      EXPECT_LE(windows.size, pool);
      EXPECT_EQ(windows.size * windows.per_unit % unit, 0) << "a unit has one aggregator";
    }
}

TEST(CollectivePlanner, TokensAreWithinEveryLimit) {
  for_random([](PlannerRandom& random) {
    const int64_t tasks = random.in(1, 40), threads = random.in(0, 64);
    CollectiveOptions how;
    how.aggregators = random.in(0, 12);
    how.per_host = random.in(-1, 12);
    const int64_t tokens = CollectivePlanner(tasks).tokens(how, threads);
    EXPECT_GE(tokens, 1);
    EXPECT_LE(tokens, std::min<int64_t>(tasks, max_tokens));
    if (how.aggregators > 0) {
      EXPECT_LE(tokens, how.aggregators);
    }
    if (how.per_host > 0) {
      EXPECT_LE(tokens, how.per_host);
    }
    const std::array limits{tasks, int64_t{max_tokens},
                            how.per_host >= 0 ? std::max<int64_t>(how.per_host, 1) : tasks,
                            how.aggregators > 0 ? how.aggregators : std::max<int64_t>(threads, 1)};
    EXPECT_TRUE(std::ranges::find(limits, tokens) != limits.end()) << tokens;
  });
}

TEST(CollectivePlanner, TouchedBytesCountEachBlockOnce) {
  for_random([](PlannerRandom& random) {
    const int64_t block = random.in(1, 40);
    std::vector<Extent> extents;
    std::vector<bool> touched(2000);
    for (int64_t i = random.in(0, 8); i > 0; --i) {
      extents.push_back({random.in(0, 1500), random.in(1, 200)});
      for (int64_t at = extents.back().offset / block * block; at < extents.back().end(); ++at)
        for (int64_t byte = at / block * block; byte < (at / block + 1) * block; ++byte)
          touched[static_cast<size_t>(byte)] = true;
    }
    EXPECT_EQ(touched_bytes(extents, block), std::ranges::count(touched, true));
  });
}

}  // namespace
}  // namespace sheaf::exchange::collective_planner_test

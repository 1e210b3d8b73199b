// Properties of the decisions about a collective transfer, over random accesses of a few tasks. Nothing here
// communicates or opens a file: the test combines the facts of the tasks as the reduction does.
#include "exchange/collective_planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "comm/reduce.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange::collective_planner_test {
namespace {

using layout::TypeMap;
using Buffering = CollectiveOptions::Buffering;

constexpr int64_t KiB = 1 << 10, MiB = 1 << 20;

// The accesses of all tasks of a call: `count` pieces of `piece` bytes, `stride` bytes apart, at `begin`.
struct Part {
  int64_t begin, piece, stride, count;
};

// Returns the combined facts of two tasks, from the words of the reduction.
CallFacts combined(const CallFacts& mine, CallFacts theirs) {
  CallFacts result = mine;
  std::array<int64_t, FieldWords::of<CallFacts>().count()> packed{}, also_packed{};
  as_words<CallFacts>({&result, 1}, packed, [&](auto words) {
    as_words<CallFacts>({&theirs, 1}, also_packed, [&](auto others) {
      for (size_t i = 0; i < words.size(); ++i) words[i] = std::max(words[i], others[i]);
    });
  });
  return result;
}

class Tasks {
 public:
  explicit Tasks(std::vector<Part> parts) : parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      types_.push_back(
          TypeMap::bytes(std::max<int64_t>(part.piece, 1)).resized(0, std::max<int64_t>(part.stride, 1)));
      planners_.emplace_back(std::ssize(parts_));
    }
  }

  size_t size() const { return parts_.size(); }
  const Part& part(size_t task) const { return parts_[task]; }
  CollectivePlanner& planner(size_t task) { return planners_[task]; }
  FileAccess access(size_t task) const {
    const Part& part = parts_[task];
    if (part.count * part.piece == 0) return {};
    return {.displacement = part.begin, .filetype = &types_[task], .to = part.piece * part.count};
  }
  // Begins and summarizes a call in which all tasks exchange everything.
  CallSummary summarize(const CollectiveOptions& how, bool several_hosts = true) {
    CallFacts facts;
    for (size_t task = 0; task < size(); ++task)
      facts = combined(facts, planners_[task].begin(access(task), how));
    std::optional<CallSummary> summary;
    for (CollectivePlanner& planner : planners_) summary = planner.summarize(facts);
    if (several_hosts) return *summary;
    summary->bytes = summary->lengths = summary->pieces = 0;
    for (size_t task = 0; task < size(); ++task) {
      const FileAccess own = access(task);
      if (own.bytes() <= 0) continue;
      summary->bytes += own.bytes();
      summary->pieces += own.pieces();
      summary->lengths += length_in_units(own, how.block);
    }
    summary->pieces = std::max<int64_t>(summary->pieces, 1);
    return *summary;
  }
  PoolFacts one_host(const CollectiveOptions& how) const {
    std::vector<Extent> ranges;
    for (size_t task = 0; task < size(); ++task)
      if (const FileAccess own = access(task); own.bytes() > 0)
        ranges.push_back(Extent::between(own.low(), own.high()));
    return {false, 1, usual_window, touched_bytes(ranges, how.block)};
  }

 private:
  std::vector<Part> parts_;
  std::vector<TypeMap> types_;
  std::vector<CollectivePlanner> planners_;
};

class PlannerRandom {
 public:
  explicit PlannerRandom(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t from, int64_t to) { return std::uniform_int_distribution(from, to)(engine_); }
  Part part() {
    const int64_t piece = in(1, 64 * KiB);
    return {in(0, 8 * MiB), piece, piece + in(0, 1) * in(0, 4 * piece), in(0, 20)};
  }
  std::vector<Part> parts() {
    std::vector<Part> parts;
    for (int64_t tasks = in(2, 6); std::ssize(parts) < tasks;) parts.push_back(part());
    return parts;
  }

 private:
  std::mt19937_64 engine_;
};

template <class Check>
void for_random(Check check) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlannerRandom random(seed);
    check(random);
  }
}

TEST(CollectivePlanner, SummaryCoversEveryTask) {
  for_random([](PlannerRandom& random) {
    Tasks tasks(random.parts());
    const CallSummary summary = tasks.summarize({});
    int64_t bytes = 0, low = CallFacts::max, high = -1;
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
    const std::vector<Part> parts = random.parts();
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
      EXPECT_TRUE(!with.reuse || !tasks.summarize(with).facts.differs) << why;
      for (size_t task = 0; task < tasks.size(); ++task) tasks.planner(task).note_plan();
    };
    how.buffer = 64 * KiB;
    expect_no_plan(how, "another buffer");
    how.unit = 64 * KiB;
    expect_no_plan(how, "another unit");
    tasks.planner(static_cast<size_t>(random.in(0, std::ssize(parts) - 1))).forget();
    expect_no_plan(how, "a task has failed");
    how.reuse = false;
    expect_no_plan(how, "switched off");
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

TEST(CollectivePlanner, LargeExtentsNeedNoOtherTask) {
  for_random([](PlannerRandom& random) {
    const Tasks tasks(random.parts());
    for (size_t task = 0; task < tasks.size(); ++task) {
      const FileAccess access = tasks.access(task);
      if (access.bytes() <= 0) continue;
      const CollectivePlanner planner(2);
      const int64_t mean = access.bytes() / access.pieces();
      EXPECT_EQ(planner.write_path(access, {}) == IoPath::independent, mean >= piece_worth_a_write);
      EXPECT_EQ(planner.read_path(access, {}, ReadSource::shared_cache) == IoPath::independent,
                mean >= piece_worth_a_read);
      // If hosts have caches of their own, only whole units count, and reads always exchange.
      CollectiveOptions units;
      units.unit = int64_t{1} << random.in(0, 16);
      const Part& part = tasks.part(task);
      const bool contiguous = part.piece == part.stride || part.count == 1;
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

TEST(CollectivePlanner, RangesThatDoNotOverlapAreNotMerged) {
  for_random([](PlannerRandom& random) {
    std::vector<Part> parts;
    const int64_t piece = random.in(1, 16 * KiB);
    for (int64_t task = 0; task < random.in(2, 8) || task < 2; ++task)
      parts.push_back({task * MiB, piece, 2 * piece, random.in(10, 20)});
    Tasks tasks(parts);
    CollectiveOptions how;
    const CallSummary one = tasks.summarize(how, false);
    EXPECT_EQ(CollectivePlanner::merge_reads(one, how, tasks.one_host(how)), Merging::none);
    EXPECT_EQ(CollectivePlanner::merge_writes(one, how, tasks.one_host(how)), Merging::none);
    how.exchange = Buffering::enabled;
    EXPECT_EQ(CollectivePlanner::merge_writes(one, how, tasks.one_host(how)),
              one.bytes >= tasks.one_host(how).touched / very_sparse ||
                      usual_window >= tasks.one_host(how).touched / very_sparse
                  ? Merging::all
                  : Merging::none);
  });
}

TEST(CollectivePlanner, InterleavedDenseRangesAreMerged) {
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
      const PoolFacts pool = several_hosts ? PoolFacts{true, 2, usual_window} : tasks.one_host(how);
      EXPECT_EQ(CollectivePlanner::merge_reads(summary, how, pool), Merging::all);
      EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::all);
    }
  });
}

// Small gaps are read along. Where gaps are worth a request of their own, the density of the extents decides.
TEST(CollectivePlanner, RangesWithLargeGapsAreMergedIfTheyAreDenseEnough) {
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
TEST(CollectivePlanner, PartsOfUnitsHaveOneWriter) {
  for_random([](PlannerRandom& random) {
    Tasks tasks(random.parts());
    CollectiveOptions how;
    how.unit = 64 * KiB;
    CallSummary summary = tasks.summarize(how);
    if (summary.is_empty()) return;
    const PoolFacts pool{true, 2, MiB};
    EXPECT_NE(CollectivePlanner::merge_writes(summary, how, pool), Merging::none);
    how.exchange = Buffering::enabled;
    EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::all);
    summary.facts.high = summary.facts.low + max_windows * MiB;
    EXPECT_EQ(CollectivePlanner::merge_writes(summary, how, pool), Merging::none);
  });
}

// Windows cover the range exactly once, and each unit has one aggregator in calls over any range.
TEST(CollectivePlanner, WindowsCoverTheRangeAndKeepTheAggregatorsOfUnits) {
  for_random([](PlannerRandom& random) {
    CollectiveOptions how;
    how.unit = random.in(0, 2) * 64 * KiB * random.in(1, 8);
    how.buffer = random.in(0, 1) * random.in(128 * KiB, 2 * MiB);
    const int64_t aggregators = random.in(1, 5);
    const auto shape = shape_between_hosts(how, aggregators, 1, CallFacts::max);
    ASSERT_GT(shape.window, 0);
    const PoolFacts pool{true, aggregators, shape.window};
    const auto call = [&] {
      CallFacts facts;
      facts.low = random.in(0, 64 * MiB);
      facts.high = facts.low + random.in(1, 64 * MiB);
      return CallSummary(facts, 4);
    };
    for (int i = 0; i < 3; ++i) {
      const CallSummary summary = call();
      const Windows windows = CollectivePlanner::windows(summary, how, pool);
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
      EXPECT_EQ(misplaced, 0) << "the aggregator of a unit depends on the unit only";
    }
  });
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

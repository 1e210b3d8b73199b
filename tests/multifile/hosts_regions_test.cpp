// Multifiles written by tasks of several hosts with separate page caches. No two hosts may write one unit, no
// task may read data that another host has not closed, and every byte must arrive.
#include <gtest/gtest.h>

#include <set>

#include "base/warnings.hpp"
#include "multifile/recover/repair.hpp"
#include "support/hosts_store.hpp"
#include "support/programs.hpp"

namespace sheaf::test::hosts_regions_test {

using namespace multifile;

namespace {

using Names = std::vector<std::string>;

enum class TaskPlacement { blocks, in_turn };

// One program and the placement of its tasks.
struct RegionsCase {
  int hosts = 2;
  int per_host = 2;
  TaskPlacement placement = TaskPlacement::blocks;
  std::string words = "w";
  int32_t fsblksize = 512;
  int64_t unit = 64 << 10;
  int64_t page = 4096;
  int nfiles = 1;
  std::vector<int64_t> chunks;  // requested chunk of each task
  std::vector<std::vector<int64_t>> pieces;
  bool collective = false;  // collective calls, the same number on all tasks
  bool flushes = false;
  int flushers = 0;  // one in `flushers` tasks flushes after each piece; 0: all or none do
  bool closes = true;
  bool hosts_are_lost = false;  // at the end, hosts lose their unwritten cached data and close no file
  Coherence coherence = Coherence::close_to_open;
  uint64_t seed = 1;

  int ntasks() const { return hosts * per_host; }
  int64_t bytes_of(int task) const {
    int64_t sum = 0;
    for (const int64_t n : pieces[static_cast<size_t>(task)]) sum += n;
    return sum;
  }
  std::string text() const {
    return std::to_string(hosts) + " hosts of " + std::to_string(per_host) +
           (placement == TaskPlacement::blocks ? "" : " in turn") + ", '" + words + "', blocks of " +
           std::to_string(fsblksize) + ", units of " + std::to_string(unit) + ", seed " +
           std::to_string(seed) + (flushes ? ", flushes" : "") +
           (closes           ? ""
            : hosts_are_lost ? ", hosts die"
                             : ", dies");
  }
};

SimulatedHosts cluster_of(const RegionsCase& c) {
  HostsOptions options;
  options.unit = c.unit;
  options.page = c.page;
  options.seed = c.seed;
  options.pressure = 5;
  options.coherence = c.coherence;
  return SimulatedHosts(options);
}

void run(const RegionsCase& c, SimulatedHosts& cluster) {
  FiberOptions options = fibers(c.ntasks(), c.seed);
  options.stack_bytes = 256 << 10;
  options.ranks_per_node = c.per_host;
  run_fibers(options, [&](Comm& world) {
    const int host = world.rank() / c.per_host;
    const int key =
        c.placement == TaskPlacement::blocks ? world.rank() : world.rank() % c.per_host * c.hosts + host;
    const auto comm = world.split(0, key);
    const auto me = static_cast<size_t>(comm->rank());
    HostsStore store(cluster, host, comm->rank());
    ParallelWriteRequest request;
    request.path = "a";
    request.chunk_size = c.chunks[me];
    request.fsblksize = c.fsblksize;
    request.nfiles = c.nfiles;
    Writer writer(store, comm->duplicate(), std::move(request), shared_mode_of(*comm, c.words, 1000));
    int64_t done = 0;
    for (const int64_t bytes : c.pieces[me]) {
      if (c.collective) {
        writer.write_collectively(content(comm->rank(), done, bytes), std::nullopt);
      } else {
        writer.stream().write(content(comm->rank(), done, bytes));
      }
      done += bytes;
      yield();
      if (c.flushes || (c.flushers > 0 && comm->rank() % c.flushers == 0)) writer.commit();
    }
    if (c.closes) writer.close();
    if (!c.hosts_are_lost) return;
    comm->barrier();
    if (world.rank() == 0)
      for (int h = 0; h < c.hosts; ++h) cluster.lose(h);
    comm->barrier();  // no task closes a file before all hosts are lost
  });
}

void check_streams(Store& store, const RegionsCase& c) {
  Reader all(store, "a", mode_of("r"));
  ASSERT_EQ(all.ntasks(), c.ntasks());
  ASSERT_EQ(all.facts().unclosed, !c.closes);
  for (int t = 0; t < c.ntasks(); ++t) {
    all.select(t);
    const int64_t bytes = c.bytes_of(t);
    std::vector<std::byte> found(static_cast<size_t>(bytes) + 1);
    found.resize(all.stream().read(found));
    ASSERT_EQ(std::ssize(found), bytes) << "task " << t;
    ASSERT_TRUE(found == content(t, 0, bytes)) << "task " << t;
  }
}

void check(const RegionsCase& c) {
  SCOPED_TRACE(c.text());
  SimulatedHosts cluster = cluster_of(c);
  ASSERT_NO_THROW(run(c, cluster));
  take_warnings();
  const HostsCounts counts = cluster.counts();
  std::string examples;
  for (const std::string& example : counts.examples) examples += "\n  " + example;
  EXPECT_EQ(counts.shared_units, 0) << examples;
  EXPECT_EQ(counts.foreign_bytes, 0) << examples;
  HostsStore later(cluster, 99, 99);
  if (c.words.find("cmerge") != std::string::npos) return;  // a merged stream holds data of other tasks
  ASSERT_NO_THROW(check_streams(later, c));
  if (!c.closes) {
    WorkProgress quiet;
    repair(later, "a", {}, quiet);
    RegionsCase repaired = c;
    repaired.closes = true;
    check_streams(later, repaired);
  }
  const Names names = cluster.paths();
  EXPECT_EQ(names.size(), static_cast<size_t>(c.nfiles)) << names.back();
}

RegionsCase small_case(TaskPlacement placement) {
  RegionsCase c;
  c.placement = placement;
  c.chunks.assign(4, 4096);
  c.pieces.assign(4, {3000, 3000, 3000, 3000});
  return c;
}

TEST(HostsRegions, SmallChunksInOrder) { check(small_case(TaskPlacement::blocks)); }

TEST(HostsRegions, SmallChunksDealtOutInTurn) { check(small_case(TaskPlacement::in_turn)); }

TEST(HostsRegions, NothingIsLostThatWasFlushed) {
  for (const TaskPlacement placement : {TaskPlacement::blocks, TaskPlacement::in_turn})
    for (const std::string words : {"w", "w,durable"}) {
      RegionsCase c = small_case(placement);
      c.words = words;
      c.flushes = true;
      c.closes = false;
      check(c);
    }
}

TEST(HostsRegions, WhatWasFlushedSurvivesTheLossOfAllHosts) {
  for (const TaskPlacement placement : {TaskPlacement::blocks, TaskPlacement::in_turn})
    for (const std::string words : {"w", "w,durable", "w,compress", "w,collective", "w,collective,durable"}) {
      RegionsCase c = small_case(placement);
      c.words = words;
      c.collective = words.find("collective") != std::string::npos;
      c.flushes = true;
      c.closes = false;
      c.hosts_are_lost = true;
      check(c);
    }
}

// Chunks completed without a flush may be lost with their host. All data that readers find must be correct,
// although a neighbour's flush publishes its records and memory pressure writes arbitrary pages back.
TEST(HostsRegions, NoRecordOutlivesItsBytesWhereAHostIsLost) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RegionsCase c = small_case(TaskPlacement::blocks);
    c.seed = seed;
    c.per_host = 3;
    c.chunks.assign(6, 4096);
    c.pieces.assign(6, std::vector<int64_t>(1 + seed % 9, 3000));
    c.flushers = 3;  // every third task flushes: one per host
    c.closes = false;
    c.hosts_are_lost = true;
    SCOPED_TRACE(c.text());
    SimulatedHosts cluster = cluster_of(c);
    ASSERT_NO_THROW(run(c, cluster));
    HostsStore later(cluster, 99, 99);
    Reader all(later, "a", mode_of("r"));
    for (int t = 0; t < c.ntasks(); ++t) {
      all.select(t);
      std::vector<std::byte> found(static_cast<size_t>(c.bytes_of(t)) + 1);
      found.resize(all.stream().read(found));
      ASSERT_TRUE(found == content(t, 0, std::ssize(found)))
          << "task " << t << ", " << found.size() << " bytes";
      ASSERT_TRUE(t % 3 > 0 || std::ssize(found) == c.bytes_of(t))
          << "task " << t << ", " << found.size() << " bytes";
    }
  }
}

TEST(HostsRegions, LargeUnitsWhereEachHostHasOne) {
  RegionsCase c = small_case(TaskPlacement::blocks);
  c.unit = 4 << 20;
  c.chunks.assign(4, 3 << 20);
  c.pieces.assign(4, {2 << 20, 2 << 20, 2 << 20});
  check(c);
}

// If a host has less data than a unit, only pages need to be separate. One warning must recommend a separate
// file for each host.
TEST(HostsRegions, LargeUnitsWhereHostsHaveLess) {
  RegionsCase c = small_case(TaskPlacement::blocks);
  c.unit = 64 << 20;
  SimulatedHosts shared = cluster_of(c);
  take_warnings();
  run(c, shared);
  const auto warnings = take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings.front().find("files=auto"), std::string::npos) << warnings.front();
  check_streams(*std::make_unique<HostsStore>(shared, 99, 99), c);
  c.words = "w,files=auto";
  c.nfiles = 2;
  check(c);
}

RegionsCase random_case(uint64_t seed) {
  Random random(seed);
  const auto one_of = [&]<class T>(std::initializer_list<T> choices) {
    return choices.begin()[random.below(std::ssize(choices))];
  };
  RegionsCase c;
  c.seed = seed;
  c.hosts = 2 + static_cast<int>(random.below(3));
  c.per_host = 1 + static_cast<int>(random.below(4));
  c.placement = one_of({TaskPlacement::blocks, TaskPlacement::in_turn});
  c.unit = one_of({4096l, 16l << 10, 64l << 10, 128l << 10, 1l << 20});
  c.page = std::min(c.unit, one_of({4096l, 64l << 10}));
  c.fsblksize = one_of({-1, 512, 1000, 4096, 100'000, 64 << 10});
  c.nfiles = random.below(4) == 0 ? std::min(2, c.ntasks()) : 1;
  c.coherence = one_of({Coherence::close_to_open, Coherence::close_to_open, Coherence::coherent});
  c.collective = random.below(3) == 0;
  const int calls = 1 + static_cast<int>(random.below(6));
  for (int t = 0; t < c.ntasks(); ++t) {
    c.chunks.push_back(one_of({100l, 4096l, 10'000l, 70'001l, 200'000l}));
    c.pieces.emplace_back();
    for (int i = 0; i < calls; ++i)
      c.pieces.back().push_back(random.below(3) == 0 ? 70'001 : random.below(9000));
  }
  c.words = one_of({"w", "w,durable", "w,journal=off", "w,compress"});
  if (c.collective)
    c.words =
        one_of({"w,collective", "w,collective,collsize=2", "w,collective,durable", "w,collective,cmerge"});
  c.closes = random.below(3) > 0 || c.words.find("journal=off") != std::string::npos;
  c.flushes = random.below(2) == 0 || !c.closes;
  c.hosts_are_lost = !c.closes && random.below(2) == 0;
  return c;
}

TEST(HostsRegions, OfRandomProgramsAreKept) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    check(random_case(seed));
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace sheaf::test::hosts_regions_test

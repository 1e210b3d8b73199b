// Tests hosts, their aggregators, and collective reads by several hosts.
#include "exchange/host_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "exchange/collective_executor.hpp"
#include "support/environment.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::hosts_test {
namespace {

constexpr int tasks = 12;
constexpr int per_host = 2;

// Returns the host of each window owner.
std::vector<int> owners_of(const HostMap::Rules& rules) {
  std::vector<int> hosts;
  run_fibers({.ranks = tasks, .stack_bytes = 64 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    const auto found = HostMap::find(comm, rules);
    hosts.resize(static_cast<size_t>(found->aggregators()), -1);
    EXPECT_LE(found->channel_number(), 1);
    if (found->channel_number() >= 0) {
      std::ranges::copy(found->aggregator_hosts(), hosts.begin() + found->first_aggregator());
      EXPECT_EQ(found->me(), comm.rank() / per_host);
    }
  });
  return hosts;
}

// Returns the ranks of the window owners. Checks that all tasks find the same ranks.
std::vector<int64_t> owner_tasks_of(const HostMap::Rules& rules) {
  std::vector<std::vector<int64_t>> known(tasks);
  run_fibers({.ranks = tasks, .stack_bytes = 64 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    known[static_cast<size_t>(comm.rank())] = HostMap::find(comm, rules)->aggregator_tasks();
  });
  for (const auto& ranks : known) EXPECT_EQ(ranks, known[0]);
  return known[0];
}

using Owners = std::vector<int>;

TEST(HostMap, AggregatorsAreSpreadOverThem) {
  EXPECT_EQ(owners_of({}), (Owners{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(owners_of({.aggregators = 1}), (Owners{0}));
  EXPECT_EQ(owners_of({.aggregators = 2}), (Owners{0, 3})) << "fewer than hosts: not the first ones";
  EXPECT_EQ(owners_of({.aggregators = 3}), (Owners{0, 2, 4}));
  EXPECT_EQ(owners_of({.aggregators = 4}), (Owners{0, 1, 3, 4}));
  EXPECT_EQ(owners_of({.aggregators = 8}), (Owners{0, 1, 2, 3, 4, 5, 0, 3}))
      << "those of the first lane, then those of the second";
}

TEST(HostMap, AllTasksKnowTheRanksOfAggregators) {
  using Tasks = std::vector<int64_t>;
  EXPECT_EQ(owner_tasks_of({}), (Tasks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(owner_tasks_of({.aggregators = 2}), (Tasks{0, 6}));
  EXPECT_EQ(owner_tasks_of({.aggregators = 8}), (Tasks{0, 2, 4, 6, 8, 10, 1, 7}));
  EXPECT_EQ(owner_tasks_of({.aggregators = 3, .shared = false}), (Tasks{0, 4, 8})) << "each task is a host";
}

TEST(HostMap, OfAnIoNodeShareOneSetOfAggregatorsAndMemoryEach) {
  const test::EnvironmentVariable topology("SHEAF_TOPOLOGY", "ion=4");
  EXPECT_EQ(owners_of({.aggregators = 3}), (Owners{0, 2, 4}));
  EXPECT_EQ(owners_of({.aggregators = 1}), (Owners{0}));
  EXPECT_EQ(owners_of({}), (Owners{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})) << "all four tasks of an I/O node";
}

TEST(HostMap, AggregatorsAreOnTheFirstHostsWithoutPsets) {
  EXPECT_EQ(owners_of({.aggregators = 2, .psets = false}), (Owners{0, 1}));
  EXPECT_EQ(owners_of({.aggregators = 8, .psets = false}), (Owners{0, 1, 2, 3, 4, 5, 0, 1}));
  const test::EnvironmentVariable topology("SHEAF_TOPOLOGY", "ion=4");
  EXPECT_EQ(owners_of({.aggregators = 3, .psets = false}), (Owners{0, 1, 2}));
}

// A call must make an exchange plan if the previous call made none, even if both have the same access.
TEST(HostMap, MakeAPlanWhereTheLastCallHadNone) {
  constexpr int64_t record = 100, records = 50;
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::write);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    IoCounters counters;
    const layout::TypeMap type = layout::TypeMap::bytes(record).resized(0, tasks * record);
    std::vector<std::byte> data(record * records);
    const auto write = [&](CollectiveOptions::Buffering way, int64_t displacement, uint8_t value) {
      how.exchange = way;
      std::ranges::fill(data, static_cast<std::byte>(value + comm.rank()));
      transfers.write(
          *file,
          {displacement + comm.rank() * record, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()},
          how, std::nullopt, counters);
    };
    write(CollectiveOptions::Buffering::enabled, 1'000'000, 20);
    how.aggregators = 0;
    write(CollectiveOptions::Buffering::automatic, 0, 40);
    for (uint8_t value = 60; value < 120; value += 20)
      write(CollectiveOptions::Buffering::disabled, 0, value);
    write(CollectiveOptions::Buffering::enabled, 0, 120);
    write(CollectiveOptions::Buffering::enabled, 0, 140);
  });
  const auto bytes = store.contents("a");
  for (int64_t i = 0; i < tasks * record * records; ++i)
    ASSERT_EQ(bytes[static_cast<size_t>(i)], static_cast<std::byte>(140 + i / record % tasks)) << "at " << i;
}

// The windows of a plan are aligned to a block size. A call with another block size must make a new plan.
TEST(HostMap, MakeAPlanForAnotherBlockSize) {
  constexpr int64_t record = 1000, records = 60;
  constexpr int64_t blocks[] = {4 << 10, 1 << 20, 64 << 10, 16 << 10, 4 << 20, 1};
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::write);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    how.exchange = CollectiveOptions::Buffering::enabled;
    IoCounters counters;
    const layout::TypeMap type = layout::TypeMap::bytes(record).resized(0, tasks * record);
    std::vector<std::byte> data(record * records);
    FileAccess own{comm.rank() * record, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()};
    for (size_t i = 0; i < std::size(blocks); ++i) {
      how.block = blocks[i];
      std::ranges::fill(data, static_cast<std::byte>(20 * i + static_cast<size_t>(comm.rank())));
      transfers.write(*file, own, how, std::nullopt, counters);
      comm.barrier();
      if (comm.rank() == 0) {
        const auto bytes = store.contents("a");
        EXPECT_EQ(std::ssize(bytes), tasks * record * records);
        size_t right = 0;
        while (right < bytes.size() &&
               bytes[right] == static_cast<std::byte>(20 * i + right / record % tasks))
          ++right;
        EXPECT_EQ(right, bytes.size()) << "after the write with blocks of " << how.block;
      }
      comm.barrier();
    }
    EXPECT_EQ(counters.plans_reused, 0);
  });
}

TEST(HostMap, ReadWhatAllTasksWantOnce) {
  constexpr int64_t size = 1 << 20;
  MemoryStore store;
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 1000);
  store.open("a", sheaf::Access::fresh)->write_at(bytes, 0);
  int64_t read = 0, requests = 0;
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::read);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    how.unit = 64 << 10;
    IoCounters counters;
    std::vector<std::byte> back(size);
    const layout::TypeMap all = layout::TypeMap::bytes(1);
    const FileAccess access{0, &all, 0, size, back.data(), &contiguous_bytes()};
    EXPECT_EQ(transfers.read(*file, access, how, std::nullopt, counters), size);
    EXPECT_TRUE(back == bytes);
    read += counters.file_bytes_read;
    requests += counters.requests;
  });
  EXPECT_EQ(read, size);
  EXPECT_LE(requests, 16);
}

}  // namespace
}  // namespace sheaf::exchange::hosts_test

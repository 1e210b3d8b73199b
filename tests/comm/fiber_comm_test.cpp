#include "support/fibers/fiber_comm.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "comm/comm_contract.hpp"

namespace sheaf::fiber_comm_test {
namespace {

constexpr size_t contract_stack = 32768;

using Contract = testing::TestWithParam<std::tuple<int, uint64_t>>;

TEST_P(Contract, Holds) {
  const auto [ranks, seed] = GetParam();
  const int steps = ranks < 100 ? 200 : 15;
  for (const int per_node : {1, 3})
    EXPECT_NO_THROW(run_fibers({ranks, contract_stack, seed, per_node}, [&](Comm& comm) {
      test::check_comm_contract(comm, steps, {seed + 1, seed + 7});
    }));
}

INSTANTIATE_TEST_SUITE_P(Fibers, Contract,
                         testing::Combine(testing::Values(1, 2, 3, 7, 64, 1000),
                                          testing::Values(0, 1, 2, 99)));

TEST(Fibers, EachRankRunsOnceWithItsOwnComm) {
  std::vector<int> runs(50);
  run_fibers({.ranks = 50}, [&](Comm& comm) {
    EXPECT_EQ(comm.size(), 50);
    ++runs[static_cast<size_t>(comm.rank())];
  });
  EXPECT_EQ(runs, std::vector<int>(50, 1));
}

TEST(Fibers, WithoutASeedRunInRankOrder) {
  std::vector<int> order;
  run_fibers({.ranks = 3}, [&](Comm& comm) {
    order.push_back(comm.rank());
    comm.barrier();
    order.push_back(comm.rank());
    yield();
    order.push_back(comm.rank());
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

std::vector<int> seeded_order(uint64_t seed) {
  std::vector<int> order;
  run_fibers({.ranks = 20, .seed = seed}, [&](Comm& comm) {
    for (int i = 0; i < 3; ++i) {
      comm.barrier();
      order.push_back(comm.rank());
    }
  });
  return order;
}

TEST(Fibers, ASeedDeterminesTheOrder) {
  EXPECT_EQ(seeded_order(5), seeded_order(5));
  EXPECT_NE(seeded_order(5), seeded_order(6));
  EXPECT_NE(seeded_order(5), seeded_order(0));
}

TEST(Fibers, ShareNodesByConsecutiveRanks) {
  run_fibers({.ranks = 10, .ranks_per_node = 4}, [](Comm& comm) {
    const auto node = comm.split_by_node();
    EXPECT_EQ(node->size(), comm.rank() < 8 ? 4 : 2);
    EXPECT_EQ(node->rank(), comm.rank() % 4);
    const auto odd = comm.split(comm.rank() % 2, 0);
    EXPECT_EQ(odd->split_by_node()->size(), comm.rank() < 8 ? 2 : 1);
  });
}

void check_traffic(Comm& comm) {
  int steps = 0;
  while (int64_t{1} << steps < comm.size()) ++steps;
  const Traffic start = traffic_of_this_task();
  std::array<int64_t, 2> values{};
  std::array<std::byte, 10> bytes{};
  comm.all_sum(values);
  comm.barrier();
  comm.broadcast(bytes, 0);
  const Gathered all = comm.gather(bytes, 0);
  comm.scatter(all, 0);
  const std::unique_ptr<Comm> alone = comm.split(comm.rank(), 0);
  alone->all_max(values);
  const Traffic end = traffic_of_this_task();
  const int64_t at_root = comm.rank() == 0 ? 10 + 10 * comm.size() : 0;
  test::require(end.collectives - start.collectives == 7, "traffic counts collectives, those of splits too");
  test::require(end.steps - start.steps == 6 * steps, "traffic counts ceil(log2(size)) steps per collective");
  test::require(end.bytes - start.bytes == 16 + 10 + 8 + 16 + at_root, "traffic counts contributed bytes");
}

TEST(Fibers, CountTheTrafficOfEachTask) {
  for (const int ranks : {1, 2, 7, 64}) run_fibers({ranks, contract_stack}, check_traffic);
}

TEST(TreeSteps, AreTheLogarithmRoundedUp) {
  EXPECT_EQ(tree_steps(1), 0);
  EXPECT_EQ(tree_steps(2), 1);
  EXPECT_EQ(tree_steps(3), 2);
  EXPECT_EQ(tree_steps(1024), 10);
  EXPECT_EQ(tree_steps(1025), 11);
  EXPECT_EQ(tree_steps(INT32_MAX), 31);
}

TEST(Fibers, ReportTheLargestTrafficOfAnyRank) {
  const FiberReport report = run_fibers({.ranks = 9}, [](Comm& comm) {
    std::vector<std::byte> data(100);
    comm.broadcast(data, 4);
    comm.split(comm.rank(), 0)->barrier();
  });
  EXPECT_EQ(report.traffic.collectives, 3);
  EXPECT_EQ(report.traffic.steps, 8);
  EXPECT_EQ(report.traffic.bytes, 108);
  EXPECT_GE(report.switches, 9);
}

TEST(Fibers, NeedAtLeastOneRank) {
  EXPECT_THROW(run_fibers({.ranks = 0}, [](Comm&) {}), Error);
  EXPECT_THROW(run_fibers({.ranks = 1, .ranks_per_node = 0}, [](Comm&) {}), Error);
}

TEST(Fibers, YieldOutsideDoesNothing) { yield(); }

TEST(Fibers, RunsNest) {
  int inner_ranks = 0;
  run_fibers({.ranks = 2, .stack_bytes = 65536}, [&](Comm& outer) {
    run_fibers({.ranks = 3}, [&](Comm& inner) {
      inner.barrier();
      ++inner_ranks;
    });
    yield();
    outer.barrier();
  });
  EXPECT_EQ(inner_ranks, 6);
}

// Touches `depth` kilobytes of stack below the caller, from high to low addresses.
[[gnu::noinline]] int dig(int depth) {
  volatile char kilobyte[1024];
  for (size_t i = sizeof kilobyte; i-- > 0;) kilobyte[i] = static_cast<char>(depth);
  return depth == 0 ? kilobyte[0] : dig(depth - 1) + kilobyte[5];
}

TEST(FibersDeathTest, AStackOverflowEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_digging = [](int rank, int kilobytes) {
    run_fibers({.ranks = 3}, [&](Comm& comm) {
      if (comm.rank() == rank) dig(kilobytes);
      comm.barrier();
    });
  };
  const int kilobytes = static_cast<int>(run_fibers({.ranks = 1}, [](Comm&) {}).stack_bytes / 1024);
  EXPECT_NO_THROW(run_digging(1, kilobytes / 2));
  EXPECT_DEATH(run_digging(1, kilobytes), "task 1 overflowed its stack|AddressSanitizer: stack-");
}

}  // namespace
}  // namespace sheaf::fiber_comm_test

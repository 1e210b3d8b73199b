#include "comm/threads/thread_comm.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm_contract.hpp"
#include "comm/on_threads.hpp"

namespace sheaf::thread_comm_test {
namespace {

using test::on_team;
using test::on_threads;

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, KeepTheContract) {
  const int steps = GetParam() > 10 ? 15 : 100;
  on_team(GetParam(), [&](Comm& comm) { test::check_comm_contract(comm, steps, {1, 2, 3}); });
}

INSTANTIATE_TEST_SUITE_P(ThreadComm, Threads, testing::Values(1, 2, 3, 7, 32));

TEST(ThreadComm, TwoTeamsAtOnceDoNotMix) {
  on_threads(2, [](int number) {
    on_team(3, [&](Comm& comm) {
      for (int i = 0; i < 200; ++i) {
        std::array<int64_t, 2> values{number, 1};
        comm.all_sum(values);
        test::require(values[0] == 3 * number && values[1] == 3, "sum within the team");
      }
    });
  });
}

TEST(ThreadComm, DifferentCallsAreAnErrorOnAll) {
  const auto team = make_thread_team(3);
  const auto outcomes = test::outcomes_on_threads(3, [&](int rank) {
    const auto comm = thread_comm(team, rank);
    std::array<int64_t, 2> values{};
    for (int i = 0; i < 3; ++i)
      EXPECT_THROW(comm->all_max(std::span(values).first(rank == i ? 2 : 1)), Error);
    EXPECT_THROW(comm->gather({}, rank == 1), Error);
    EXPECT_THROW(rank == 2 ? comm->barrier() : comm->all_sum({}), Error);
    comm->barrier();  // the group is usable after the error
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome, nullptr);
}

TEST(ThreadComm, BadPiecesAreRefusedByAll) {
  on_team(4, [](Comm& comm) {
    EXPECT_THROW(comm.scatter({{}, {3}}, 1), Error);
    std::byte mine{};
    EXPECT_THROW(comm.scatter_equal({}, std::span(&mine, 1), 0), Error);
    comm.barrier();
  });
}

TEST(ThreadComm, AnErrorOfOneIsAnErrorOfAll) {
  on_team(5, [](Comm& comm) {
    for (int failing = 0; failing < comm.size(); ++failing) {
      const auto problem = attempt([&] {
        if (comm.rank() == failing) throw Error(Code::io, "disk on fire");
      });
      EXPECT_THROW(agree(comm, problem), Error);
    }
  });
}

TEST(ThreadComm, TopologyMakesNodesOfConsecutiveThreads) {
  setenv("SHEAF_TOPOLOGY", "node=2", 1);
  on_team(5, [](Comm& comm) {
    const auto backwards = comm.split(0, -comm.rank());
    EXPECT_EQ(backwards->split_by_node()->size(), comm.rank() < 4 ? 2 : 1);
  });
  setenv("SHEAF_TOPOLOGY", "node=many", 1);
  on_team(3, [](Comm& comm) { EXPECT_THROW(comm.split_by_node(), Error); });
  unsetenv("SHEAF_TOPOLOGY");
}

TEST(ThreadComm, WhoWaitsSleeps) {
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = used();
  on_team(6, [](Comm& comm) {
    if (comm.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    comm.barrier();
  });
  EXPECT_LT(used() - before, 0.4) << "seconds of CPU for five threads waiting half a second";
}

TEST(ThreadComm, RefusesWhatIsNotThere) {
  EXPECT_THROW(make_thread_team(0), Error);
  EXPECT_THROW(thread_comm(make_thread_team(2), 2), Error);
}

}  // namespace
}  // namespace sheaf::thread_comm_test

// Tests what a fiber run reports if tasks hang, disagree or throw.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::fiber_failures_test {
namespace {

// Returns the message of the exception that a body threw, or "" if the body returned.
std::string text_of(const std::exception_ptr& outcome) {
  if (!outcome) return "";
  try {
    std::rethrow_exception(outcome);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string thrown_by_run(const FiberOptions& options, const std::function<void(Comm&)>& body) {
  try {
    run_fibers(options, body);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Fibers, DeadlockNamesWhoWaitsInWhat) {
  const std::string text = thrown_by_run({.ranks = 6}, [](Comm& comm) {
    const auto half = comm.split(comm.rank() / 3, 0);
    if (comm.rank() < 2) half->barrier();
    if (comm.rank() > 3) half->gather({}, 0);
  });
  EXPECT_EQ(text, "deadlock: tasks 0-1 in barrier, tasks 4-5 in gather");
}

TEST(Fibers, DeadlockUnwindsTheStacksOfThoseWhoWait) {
  struct Counter {
    int& count;
    ~Counter() { ++count; }
  };
  int unwound = 0;
  FiberReport report;
  const auto outcomes = run_fibers_collect(
      {.ranks = 3},
      [&](Comm& comm) {
        const Counter counter{unwound};
        if (comm.rank() != 1) comm.barrier();
      },
      &report);
  EXPECT_EQ(unwound, 3);
  EXPECT_EQ(report.deadlock, "deadlock: task 0 in barrier, task 2 in barrier");
  EXPECT_EQ(text_of(outcomes[0]), report.deadlock);
  EXPECT_EQ(text_of(outcomes[1]), "");
  EXPECT_EQ(text_of(outcomes[2]), report.deadlock);
}

TEST(Fibers, DeadlockIsReportedAlthoughBodiesSwallowIt) {
  const std::string text = thrown_by_run({.ranks = 2}, [](Comm& comm) {
    try {
      if (comm.rank() == 0) comm.barrier();
    } catch (const Error&) {
    }
  });
  EXPECT_EQ(text, "deadlock: task 0 in barrier");
}

TEST(Fibers, DeadlockNamesTheExceptionBeforeIt) {
  const std::string text = thrown_by_run({.ranks = 3}, [](Comm& comm) {
    if (comm.rank() == 2) throw std::runtime_error("disk on fire");
    comm.barrier();
  });
  EXPECT_EQ(text, "deadlock: tasks 0-1 in barrier; before that, task 2 threw: disk on fire");
}

// Checks that all ranks get an error if one rank makes a different call than the others. Tries several orders
// of arrival.
void expect_mismatch(const std::function<void(Comm&, bool odd_one)>& body) {
  for (const uint64_t seed : {0, 1, 2, 3})
    for (const int odd_one : {0, 2}) {
      FiberReport report;
      const auto outcomes = run_fibers_collect(
          {.ranks = 3, .seed = seed}, [&](Comm& comm) { body(comm, comm.rank() == odd_one); }, &report);
      EXPECT_EQ(report.deadlock, "");
      for (const auto& outcome : outcomes) {
        ASSERT_NE(outcome, nullptr);
        EXPECT_NE(text_of(outcome).find("had called"), std::string::npos) << text_of(outcome);
      }
    }
}

TEST(Fibers, MismatchedOperationsAreFound) {
  expect_mismatch([](Comm& comm, bool odd_one) { odd_one ? comm.barrier() : comm.all_sum({}); });
}

TEST(Fibers, MismatchedRootsAreFound) {
  expect_mismatch([](Comm& comm, bool odd_one) { comm.gather({}, odd_one); });
}

TEST(Fibers, MismatchedLengthsAreFound) {
  expect_mismatch([](Comm& comm, bool odd_one) {
    std::array<int64_t, 2> values{};
    comm.all_max(std::span(values).first(odd_one ? 2 : 1));
  });
  expect_mismatch([](Comm& comm, bool odd_one) {
    std::array<std::byte, 2> bytes{};
    comm.broadcast(std::span(bytes).first(odd_one ? 2 : 1), 1);
  });
}

TEST(Fibers, AMismatchDoesNotTouchTheCallBefore) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto outcomes =
        run_fibers_collect({.ranks = 8, .stack_bytes = 65536, .seed = seed}, [](Comm& comm) {
          std::vector<std::byte> mine;
          {
            Gathered pieces;
            if (comm.rank() == 0)
              pieces = {std::vector<std::byte>(8, std::byte{7}), std::vector<int64_t>(8, 1)};
            EXPECT_NO_THROW(mine = comm.scatter(pieces, 0));
            std::ranges::fill(pieces.bytes,
                              std::byte{0});  // must not change what a task has already received
          }
          EXPECT_EQ(mine, std::vector<std::byte>{std::byte{7}});
          comm.rank() % 2 == 1 ? comm.barrier() : comm.all_sum({});
        });
    for (const auto& outcome : outcomes) EXPECT_NE(text_of(outcome).find("had called"), std::string::npos);
  }
}

TEST(Fibers, PiecesThatDoNotMatchTheirSizesAreRefusedOnAllRanks) {
  const auto outcomes = run_fibers_collect({.ranks = 4}, [](Comm& comm) { comm.scatter({{}, {7}}, 2); });
  for (const auto& outcome : outcomes) EXPECT_NE(text_of(outcome).find("do not match"), std::string::npos);
}

TEST(Fibers, TheExceptionOfTheLowestRankIsThrown) {
  const auto body = [](Comm& comm) {
    comm.barrier();
    if (comm.rank() == 3 || comm.rank() == 1) throw std::runtime_error("rank " + std::to_string(comm.rank()));
  };
  for (const uint64_t seed : {0, 1, 2, 3}) {
    EXPECT_EQ(thrown_by_run({.ranks = 4, .seed = seed}, body), "rank 1");
    const auto outcomes = run_fibers_collect({.ranks = 4, .seed = seed}, body);
    EXPECT_EQ(text_of(outcomes[0]), "");
    EXPECT_EQ(text_of(outcomes[3]), "rank 3");
  }
}

TEST(Fibers, MayWaitAtABarrierWhileExceptionsAreInFlight) {
  struct MeetsWhenDestroyed {
    Comm& comm;
    ~MeetsWhenDestroyed() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      comm.barrier();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  run_fibers({.ranks = 10, .stack_bytes = 65536, .seed = 4}, [](Comm& comm) {
    for (int i = 0; i < 3; ++i) try {
        if (comm.rank() % 2 == 0) {
          const MeetsWhenDestroyed meets{comm};
          throw comm.rank();
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        comm.barrier();
        throw comm.rank();
      } catch (int rank) {
        comm.barrier();
        EXPECT_EQ(rank, comm.rank());
        try {
          throw;  // rethrows this fiber's exception, not that of another fiber
        } catch (int again) {
          EXPECT_EQ(again, comm.rank());
        }
      }
  });
}

}  // namespace
}  // namespace sheaf::fiber_failures_test

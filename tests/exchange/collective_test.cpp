// Makes sequences of different collective calls. Tasks do not wait for each other at the end of a call, so
// one task may still be leaving a call while others sum up values for the next call. No sum may be lost.
#include <gtest/gtest.h>

#include <vector>

#include "exchange/collective_executor.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::collective_test {
namespace {

using layout::TypeMap;

constexpr int64_t large = 64 << 10;

TEST(Collective, SmallPiecesAfterLargeOnesInAnyOrderOfTasks) {
  constexpr int tasks = 5;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    MemoryStore store;
    store.open("a", sheaf::Access::fresh);
    run_fibers(
        {.ranks = tasks, .stack_bytes = 256 << 10, .seed = seed, .ranks_per_node = tasks}, [&](Comm& comm) {
          const auto file = store.open("a", sheaf::Access::write);
          CollectiveExecutor transfers(comm);
          IoCounters counters;
          std::vector<std::byte> data(static_cast<size_t>(large), static_cast<std::byte>(comm.rank() + 1));
          const TypeMap one = TypeMap::bytes(1);
          for (int i = 0; i < 6; ++i) {
            const int64_t base = i * (tasks + 1) * large;
            const FileAccess own{base + comm.rank() * large, &one, 0, large, data.data(),
                                 &contiguous_bytes()};
            transfers.write(*file, own, {}, std::nullopt, counters);
            const FileAccess few{
                base + tasks * large + comm.rank() * 10, &one, 0, 10, data.data(), &contiguous_bytes()};
            transfers.write(*file, comm.rank() == 0 ? FileAccess{} : few, {}, std::nullopt, counters);
          }
        });
    const auto file = store.open("a", sheaf::Access::read);
    for (int i = 0; i < 6; ++i)
      for (int rank = 0; rank < tasks; ++rank) {
        const int64_t base = i * (tasks + 1) * large;
        std::byte bytes[3];
        ASSERT_EQ(file->read_at({bytes, 1}, base + rank * large), 1U);
        ASSERT_EQ(file->read_at({bytes + 1, 1}, base + (rank + 1) * large - 1), 1U);
        EXPECT_EQ(bytes[0], static_cast<std::byte>(rank + 1)) << "seed " << seed;
        EXPECT_EQ(bytes[1], bytes[0]) << "seed " << seed;
        if (rank == 0) continue;
        ASSERT_EQ(file->read_at({bytes + 2, 1}, base + tasks * large + rank * 10 + 9), 1U);
        EXPECT_EQ(bytes[2], bytes[0]) << "seed " << seed;
      }
  }
}

// A failed call must leave no contributions for the next call. Otherwise, segments of the failed call would
// seem to fill the gap between the extents of the next call.
TEST(Collective, AFailedCallLeavesNothingToTheNextOne) {
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  run_fibers({.ranks = 2, .stack_bytes = 256 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::write);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    how.exchange = CollectiveOptions::Buffering::enabled;
    IoCounters counters;
    const TypeMap one = TypeMap::bytes(1);
    const auto ten = [&](int64_t at, std::vector<std::byte>& data) {
      return FileAccess{at, &one, 0, 10, data.data(), &contiguous_bytes()};
    };
    std::vector<std::byte> before(10, std::byte{1}), alone(10, std::byte{2}), after(10, std::byte{3});
    const bool first = comm.rank() == 0;
    transfers.write(*file, ten(first ? 0 : 20, before), how, std::nullopt, counters);
    EXPECT_ANY_THROW(
        transfers.write(*file, first ? ten(10, before) : FileAccess{}, how,
                        first ? std::nullopt : std::optional<Error>(Error(Code::io, "a problem")), counters));
    if (first) independent_write(*file, ten(10, alone), {}, counters);
    comm.barrier();
    transfers.write(*file, ten(first ? 0 : 20, after), how, std::nullopt, counters);
  });
  const auto bytes = store.contents("a");
  ASSERT_EQ(bytes.size(), 30U);
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_EQ(bytes[i], i / 10 == 1 ? std::byte{2} : std::byte{3}) << "at " << i;
}

// Transfers a matrix in blocks: the extents of two tasks interleave, and the pairs are far apart. The tasks
// of a pair must share requests. Tasks with gaps that no task fills must not.
TEST(Collective, RangesThatInterleaveInPairsShareRequests) {
  constexpr int tasks = 4;
  constexpr int64_t piece = 8 << 10, rows = 32, far = 16 << 20;
  for (const bool in_pairs : {true, false}) {
    MemoryStore store;
    store.open("a", sheaf::Access::fresh);
    int64_t requests = 0, exchanged = 0, wrong = 0;
    run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .ranks_per_node = tasks}, [&](Comm& comm) {
      const auto file = store.open("a", sheaf::Access::write);
      CollectiveExecutor transfers(comm);
      IoCounters counters;
      const TypeMap type = TypeMap::bytes(piece).resized(0, 2 * piece);
      std::vector<std::byte> data(static_cast<size_t>(piece * rows), static_cast<std::byte>(comm.rank() + 1));
      const int64_t at = in_pairs ? comm.rank() / 2 * far + comm.rank() % 2 * piece : comm.rank() * far;
      FileAccess own{at, &type, 0, piece * rows, data.data(), &contiguous_bytes()};
      transfers.write(*file, own, {}, std::nullopt, counters);
      std::vector<std::byte> back(data.size());
      own.address = back.data();
      comm.barrier();
      wrong += transfers.read(*file, own, {}, std::nullopt, counters) != own.bytes() || back != data;
      requests += counters.requests;
      exchanged += counters.exchange_calls;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(exchanged, in_pairs ? 2 * tasks : 0);
    if (in_pairs) {
      EXPECT_LE(requests, 2 * 2 * (2 * piece * rows / usual_window + 1)) << "whole windows";
    }
  }
}

// Several hosts write parts of blocks of the shared granularity. Tasks must write independently if and only
// if no two tasks write to the same block, as far as the library can conclude this from the order of the
// tasks.
TEST(Collective, HostsWriteAloneWhereNoTwoTasksHaveAUnit) {
  constexpr int tasks = 6;
  constexpr int64_t unit = 128 << 10, piece = 64 << 10, far = 1 << 20;
  struct PlacementCase {
    const char* name;
    int64_t (*at)(int64_t rank, int64_t call);
    bool alone;
  };
  const PlacementCase cases[] = {
      {"own blocks", [](int64_t rank, int64_t call) { return rank * far + call * piece; }, true},
      {"in another order", [](int64_t rank, int64_t call) { return (5 - rank) * far + call * piece; }, false},
      {"two in a unit",
       [](int64_t rank, int64_t call) {
         return (rank == 1 ? 2 * far - unit / 2 : rank * far) + call % 2 * 100;
       },
       false},
      {"later two in a unit",
       [](int64_t rank, int64_t call) { return rank == 3 && call > 1 ? 2 * far + piece : rank * far; },
       false},
  };
  for (const PlacementCase& one : cases) {
    MemoryStore store;
    store.open("a", sheaf::Access::fresh);
    int64_t exchanged = 0;
    run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
      const auto file = store.open("a", sheaf::Access::write);
      CollectiveExecutor transfers(comm);
      CollectiveOptions how;
      how.unit = unit;
      transfers.find_hosts(how);
      IoCounters counters;
      std::vector<std::byte> data(static_cast<size_t>(piece), static_cast<std::byte>(comm.rank() + 1));
      for (int64_t call = 0; call < 4; ++call)
        transfers.write(
            *file,
            {one.at(comm.rank(), call), &contiguous_bytes(), 0, piece, data.data(), &contiguous_bytes()}, how,
            std::nullopt, counters);
      if (comm.rank() == 0) exchanged = counters.exchange_calls;
    });
    EXPECT_EQ(exchanged == 0, one.alone) << one.name << ": " << exchanged;
    if (one.name == std::string("later two in a unit")) {
      EXPECT_EQ(exchanged, 2) << one.name;
    }
    const auto bytes = store.contents("a");
    for (int64_t rank = 0; rank < tasks; ++rank)
      EXPECT_EQ(bytes[static_cast<size_t>(one.at(rank, 3) + piece - 1)], static_cast<std::byte>(rank + 1))
          << one.name;
  }
}

// Counts the collective reductions of this task.
class CountedReductions final : public test::ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;
  void reduce(Reduction how, std::span<int64_t> values) override {
    ++reductions;
    ForwardingComm::reduce(how, values);
  }
  int64_t reductions = 0;
};

// A task may know that no other task writes between its extents. Then a call must need only one reduction,
// which reports success, until a task writes elsewhere. This includes writes of whole blocks of the shared
// granularity.
TEST(Collective, HostsWhoseTasksKeepToTheirExclusiveExtentsReduceOnceInACall) {
  constexpr int64_t unit = 128 << 10, piece = 64 << 10, far = 1 << 20, calls = 5;
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  run_fibers({.ranks = 6, .stack_bytes = 256 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::write);
    CountedReductions counted(comm.duplicate());
    CollectiveExecutor transfers(counted);
    CollectiveOptions how;
    how.unit = unit;
    transfers.find_hosts(how);
    IoCounters counters;
    std::vector<std::byte> data(unit, static_cast<std::byte>(comm.rank() + 1));
    const auto reductions_of = [&](int64_t place, int64_t bytes) {
      const int64_t before = counted.reductions;
      transfers.write(*file, {place, &contiguous_bytes(), 0, bytes, data.data(), &contiguous_bytes()}, how,
                      std::nullopt, counters);
      return counted.reductions - before;
    };
    const int64_t own = comm.rank() * far;
    EXPECT_GT(reductions_of(own, piece), 1) << "the first call finds out";
    for (int64_t call = 1; call < calls; ++call) EXPECT_EQ(reductions_of(own + call * piece, piece), 1);
    EXPECT_EQ(reductions_of(comm.rank() == 3 ? 2 * far : own, unit), 1)
        << "whole units need no exclusive extent";
    EXPECT_GT(reductions_of(own + piece, piece), 1) << "task 3 has written elsewhere";
    EXPECT_EQ(counters.exchange_calls, 0);
  });
}

// Each task has one extent per call, as in a program that writes records collectively. A call must need one
// request and one reduction per task, and must still report the failure of one task on all tasks.
TEST(Collective, SingleExtentsNeedOneReductionAndOneRequestInACall) {
  constexpr int tasks = 4;
  constexpr int64_t calls = 5;
  for (const int64_t piece : {int64_t{8 << 10}, int64_t{64 << 10}}) {
    MemoryStore store;
    store.open("a", sheaf::Access::fresh);
    int failures = 0;
    run_fibers({.ranks = tasks, .stack_bytes = 256 << 10, .ranks_per_node = tasks}, [&](Comm& comm) {
      const auto file = store.open("a", sheaf::Access::write);
      CountedReductions counted(comm.duplicate());
      CollectiveExecutor transfers(counted);
      IoCounters counters;
      std::vector<std::byte> data(static_cast<size_t>(piece), static_cast<std::byte>(comm.rank() + 1)),
          back(data.size());
      const auto access = [&](int64_t call, std::vector<std::byte>& memory) {
        return FileAccess{(call * tasks + comm.rank()) * piece,
                          &contiguous_bytes(),
                          0,
                          piece,
                          memory.data(),
                          &contiguous_bytes()};
      };
      for (int64_t call = 0; call < calls; ++call)
        transfers.write(*file, access(call, data), {}, std::nullopt, counters);
      for (int64_t call = 0; call < calls; ++call) {
        EXPECT_EQ(transfers.read(*file, access(call, back), {}, std::nullopt, counters), piece);
        EXPECT_EQ(back, data);
      }
      EXPECT_EQ(counted.reductions, 2 * calls);
      EXPECT_EQ(counters.requests, 2 * calls);
      EXPECT_EQ(counters.exchange_calls, 0);
      const auto unwritable = store.open("a", sheaf::Access::read);
      try {
        transfers.write(comm.rank() == 2 ? *unwritable : *file, access(0, data), {}, std::nullopt, counters);
      } catch (const Error&) {
        ++failures;
      }
    });
    EXPECT_EQ(failures, tasks);
  }
}

// Tests the maximum number of tasks that a shared-memory barrier supports. Each task has a record in every
// row.
TEST(Collective, AThousandTasksOnAHost) {
  constexpr int tasks = 1024;
  constexpr int64_t record = 16, rows = 40;
  MemoryStore store;
  store.open("a", sheaf::Access::fresh);
  int64_t wrong = 0, requests = 0;
  run_fibers({.ranks = tasks, .stack_bytes = 64 << 10, .ranks_per_node = tasks}, [&](Comm& comm) {
    const auto file = store.open("a", sheaf::Access::write);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    IoCounters counters;
    const TypeMap type = TypeMap::bytes(record).resized(0, tasks * record);
    std::vector<std::byte> data(static_cast<size_t>(record * rows),
                                static_cast<std::byte>(comm.rank() % 251));
    FileAccess own{comm.rank() * record, &type, 0, record * rows, data.data(), &contiguous_bytes()};
    for (int times = 0; times < 2; ++times) transfers.write(*file, own, how, std::nullopt, counters);
    std::vector<std::byte> back(data.size());
    own.address = back.data();
    wrong += transfers.read(*file, own, how, std::nullopt, counters) != own.bytes() || back != data;
    requests += counters.requests;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(requests, 3 * (tasks * record * rows / usual_window + 2)) << "whole windows";
  const auto bytes = store.contents("a");
  for (int64_t i = 0; i < tasks * rows; ++i)
    ASSERT_EQ(bytes[static_cast<size_t>(i * record)], static_cast<std::byte>(i % tasks % 251))
        << "record " << i;
}

}  // namespace
}  // namespace sheaf::exchange::collective_test

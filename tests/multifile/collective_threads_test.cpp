// Collective programs whose tasks are threads: of one process, of several processes that communicate through
// their first threads, and of programs with callbacks. Between any two calls the tasks synchronize without
// the library, so a task that waits for others outside of a call would hang.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>

#include "comm/on_hybrid.hpp"
#include "support/collective_programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::collective_threads_test {

using namespace multifile;

namespace {

struct ThreadsCase {
  const char* name;
  int tasks;
  int grain;  // tasks of a process; a process is never split between files
  Players players;
};

Players threads() {
  return [](int ntasks, const std::function<void(Comm&)>& body) { on_team(ntasks, body); };
}
Players processes_of(int threads) {
  return [threads](int ntasks, const std::function<void(Comm&)>& body) {
    on_hybrid({ntasks / threads, threads}, body);
  };
}

std::vector<ThreadsCase> cases() {
  return {{"a team", 5, 1, threads()},
          {"2 x 2", 4, 2, processes_of(2)},
          {"3 x 2", 6, 2, processes_of(2)},
          {"2 x 4", 8, 4, processes_of(4)},
          {"1 x 3", 3, 3, processes_of(3)}};
}

// Returns a random program adapted to the number of tasks, with whole processes per file.
CollectiveProgram program_for(const ThreadsCase& c, uint64_t seed) {
  CollectiveProgram p = random_collective_program(seed);
  const auto n = static_cast<size_t>(c.tasks);
  p.nfiles = seed % 4 == 0 && c.tasks / c.grain % 2 == 0 ? 2 : 1;
  while (p.requests.size() < n) p.requests.push_back(p.requests[p.requests.size() / 2]);
  p.requests.resize(n);
  for (auto& call : p.calls) {
    call.alone.resize(n, 0);
    call.together.resize(n, 100);
    for (size_t t = 0; t < n; ++t) {
      const int task = static_cast<int>(t);
      if (p.chunk(task) == 0) call.alone[t] = 0;
      const int64_t goal = p.merge ? p.chunk(p.collector(task)) : p.chunk(task);
      call.together[t] = std::min(call.together[t], 3000 * goal);
      call.alone[t] = std::min(call.alone[t], 3000 * p.chunk(task));
    }
  }
  return p;
}

TEST(CollectiveThreads, RandomPrograms) {
  for (const ThreadsCase& c : cases())
    for (uint64_t seed = 1; seed <= 24; ++seed) {
      const CollectiveProgram p = program_for(c, seed);
      SCOPED_TRACE(std::string(c.name) + ", seed " + std::to_string(seed) + ": " + p.describe());
      MemoryStore store;
      std::barrier meeting(c.tasks);
      const auto between = [&] { meeting.arrive_and_wait(); };
      ASSERT_NO_THROW({
        write_program(store, "a", p, c.players, between);
        check_program(store, "a", p);
        read_program(store, "a", p, seed, c.players, between);
      });
    }
}

// Some groups send several parcels per task. The other groups must take the same number of steps.
TEST(CollectiveThreads, GroupsOfOtherSizesStayInStep) {
  for (const ThreadsCase& c : cases()) {
    SCOPED_TRACE(c.name);
    CollectiveProgram p = simple(c.tasks, 1 << 20, 3, 1000, 2);
    for (auto& call : p.calls) call.together[0] = 2'000'000;
    p.calls[1].alone[1] = 900'000;
    MemoryStore store;
    std::barrier meeting(c.tasks);
    write_program(store, "a", p, c.players, [&] { meeting.arrive_and_wait(); });
    EXPECT_NO_THROW(check_program(store, "a", p));
  }
}

// If one task fails in a round, the round must fail on all tasks. The next round must write all data.
TEST(CollectiveThreads, AFailureIsToldToAllAndCostsNoByte) {
  for (const ThreadsCase& c : cases())
    for (const int64_t bytes : {200, 150'000, 700'000})
      for (int64_t k = 0; k < 6; ++k) {
        SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(bytes) + " bytes, write " +
                     std::to_string(k));
        CollectiveProgram p = simple(c.tasks, 1 << 20, 6, bytes, 2);
        MemoryStore memory;
        FaultyStore faulty(memory);
        SharedHandles shared(faulty);
        std::atomic<bool> closed = true;
        c.players(c.tasks, [&](Comm& comm) {
          Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                        shared_mode_of(comm, "w," + p.words()));
          FaultPlan plan;
          plan.kind = StoreOperation::write;
          plan.fail_at = k + faulty.operations(StoreOperation::write);
          comm.barrier();
          if (comm.rank() == 0) faulty.set_plan(plan);
          comm.barrier();
          for (int call = 0; call < 6; ++call)
            for (int tries = 2; tries > 0; --tries) {
              const auto problem = attempt([&] {
                writer.collective()->write(content(comm.rank(), call * bytes, bytes), std::nullopt);
              });
              int64_t failed = problem.has_value();
              comm.all_sum(std::span(&failed, 1));
              require(failed == (problem ? comm.size() : 0), "a collective call failed on some tasks only");
              if (!problem) break;
            }
          if (attempt([&] { writer.close(); })) closed = false;
        });
        if (closed) {
          EXPECT_NO_THROW(check_program(memory, "a", p));
        }
      }
}

TEST(CollectiveThreads, ATaskWithBadArgumentsHoldsNobodyUp) {
  for (const ThreadsCase& c : cases()) {
    MemoryStore store;
    SharedHandles shared(store);
    const CollectiveProgram p = simple(c.tasks, 1 << 20, 0, 0, 2);
    c.players(c.tasks, [&](Comm& comm) {
      Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                    shared_mode_of(comm, "w," + p.words()));
      const auto bad = Error(Code::invalid_argument, "bad");
      const auto mine = comm.rank() == c.tasks - 1 ? std::optional(bad) : std::nullopt;
      const auto code = code_of([&] { writer.collective()->write(content(comm.rank(), 0, 700'000), mine); });
      require(code != Code::ok, "the call fails on all tasks");
      require(writer.stream().bytes_written() == 0, "nothing is written");
      writer.close();
    });
  }
}

// A table assigns tasks of one process to different files. The tasks of one file cannot synchronize
// separately, so every task must write independently.
TEST(CollectiveThreads, FilesThatCutThroughProcessesAreWrittenAlone) {
  MemoryStore store;
  SharedHandles shared(store);
  on_hybrid({2, 3}, [&](Comm& comm) {
    ParallelWriteRequest request;
    request.path = "a";
    request.fsblksize = 64;
    request.chunk_size = 100;
    request.nfiles = 0;
    request.local = comm.split(comm.rank() % 2, comm.rank());
    Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, "w,collective"));
    require(writer.collective() == nullptr, "on their own");
    writer.stream().write(content(comm.rank(), 0, 500));
    writer.close();
    Reader reader(shared, comm.duplicate(), "a", mode_of("r,collective=2"));
    std::vector<std::byte> found(500);
    require(reader.collective() == nullptr, "on their own");
    require(reader.stream().read(found) == 500 && found == content(comm.rank(), 0, 500), "bytes");
    reader.close();
  });
}

}  // namespace
}  // namespace sheaf::test::collective_threads_test

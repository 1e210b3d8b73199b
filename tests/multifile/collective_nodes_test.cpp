// Within a host, collective calls must move data through shared memory. Only tasks of different hosts may
// exchange messages.
#include <gtest/gtest.h>

#include "support/collective_programs.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/watched_comm.hpp"

namespace sheaf::test::collective_nodes_test {

using namespace multifile;

namespace {

// Creates tasks on simulated hosts. `watch` counts their messages from this call on.
Players watched(CommWatch& watch, uint64_t seed) {
  return [&watch, seed](int ntasks, const std::function<void(Comm&)>& body) {
    FiberOptions options = fibers(ntasks, seed);
    options.ranks_per_node = watch.ranks_per_node;
    run_fibers(options, [&](Comm& comm) {
      WatchedComm seen(comm.duplicate(), watch, comm.rank());
      body(seen);
    });
  };
}

void forget(CommWatch& watch) { watch.within = watch.between = watch.steps = 0; }

// Counts only the messages of collective calls, because open and close send messages of their own.
template <class Body>
CommWatch messages_of(const CollectiveProgram& p, CommWatch watch, Body body) {
  watched(watch, 3)(p.ntasks(), [&](Comm& comm) { body(comm, watch); });
  return watch;
}

// Writes without a journal. With a journal, each round would send the collector a list of completed chunks,
// even within a host.
CommWatch of_writing(Store& store, const CollectiveProgram& p, const CommWatch& how) {
  SharedHandles shared(store);
  CommWatch during;
  messages_of(p, how, [&](Comm& comm, CommWatch& watch) {
    Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                  shared_mode_of(comm, "w,journal=off," + p.words()));
    comm.barrier();
    forget(watch);
    comm.barrier();
    write_calls(writer, p);
    comm.barrier();
    during = watch;
    writer.close();
  });
  check_program(store, "a", p);
  return during;
}

CommWatch of_reading(Store& store, const CollectiveProgram& p, const CommWatch& how) {
  SharedHandles shared(store);
  CommWatch during;
  messages_of(p, how, [&](Comm& comm, CommWatch& watch) {
    const std::string word = "r,collective=" + (p.collsize > 0 ? std::to_string(p.collsize) : "auto");
    Reader reader(shared, comm.duplicate(), "a", mode_of(word));
    comm.barrier();
    forget(watch);
    comm.barrier();
    const auto expected = p.expected(comm.rank()).second;
    std::vector<std::byte> found;
    for (size_t i = 0; i < p.calls.size(); ++i) {
      std::vector<std::byte> out(
          static_cast<size_t>(reader.stream().available(std::ssize(expected) / std::ssize(p.calls) + 1)));
      reader.collective()->read(out, std::nullopt);
      found.insert(found.end(), out.begin(), out.end());
    }
    require(found == expected, "bytes read collectively");
    comm.barrier();
    during = watch;
    reader.close();
  });
  return during;
}

// Returns programs whose requests are buffered, fill one round, or take several rounds, and one with merged
// pieces.
std::vector<CollectiveProgram> programs() {
  std::vector<CollectiveProgram> all{simple(12, 4096, 150, 4096, 6), simple(12, 30'000, 12, 30'000, 12),
                                     simple(12, 700'000, 3, 700'000, 6), simple(12, 5000, 5, 700, 4),
                                     simple(12, 400'000, 2, 300'000, 6)};
  all[3].merge = all[4].merge = true;
  return all;
}

// A group whose tasks are all on one host must send no messages to other hosts.
TEST(CollectiveNodes, MessagesTravelBetweenThem) {
  for (const int ranks_per_node : {1, 4, 5, 6, 12})
    for (const CollectiveProgram& p : programs()) {
      SCOPED_TRACE(p.words() + " " + std::to_string(p.requests[0]) + ", nodes of " +
                   std::to_string(ranks_per_node));
      MemoryStore store;
      const CommWatch written = of_writing(store, p, {.ranks_per_node = ranks_per_node});
      EXPECT_EQ(written.between == 0, ranks_per_node % p.collsize == 0) << "groups within a node";
      if (p.merge) continue;
      const CommWatch read = of_reading(store, p, {.ranks_per_node = ranks_per_node});
      EXPECT_EQ(read.between == 0, ranks_per_node % p.collsize == 0) << "groups within a node";
    }
}

TEST(CollectiveNodes, MessagesDoWhereNoMemoryCanBeShared) {
  for (const int ranks_per_node : {4, 12})
    for (const CollectiveProgram& p : programs()) {
      SCOPED_TRACE(p.words() + " " + std::to_string(p.requests[0]) + ", nodes of " +
                   std::to_string(ranks_per_node));
      MemoryStore store;
      EXPECT_GT(of_writing(store, p, {.ranks_per_node = ranks_per_node, .shares_memory = false}).within, 0);
      if (!p.merge) of_reading(store, p, {.ranks_per_node = ranks_per_node, .shares_memory = false});
    }
}

TEST(CollectiveNodes, RandomPrograms) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const CollectiveProgram p = random_collective_program(seed + 5000);
    CommWatch watch{.ranks_per_node = static_cast<int>(1 + seed % 7)};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", nodes of " + std::to_string(watch.ranks_per_node) +
                 ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_program(store, "a", p, watched(watch, seed));
      check_program(store, "a", p);
      read_program(store, "a", p, seed, watched(watch, seed));
    });
  }
}

// In groups of more than 64 tasks, each task has less memory, and the amounts differ. All groups must take as
// many rounds as the group with the least memory.
TEST(CollectiveNodes, GroupsOfOtherSizesStayInStep) {
  for (const int ranks_per_node : {40, 200}) {
    const CollectiveProgram p = simple(170, 1000, 2, 220'000, 100);
    MemoryStore store;
    of_writing(store, p, {.ranks_per_node = ranks_per_node});
    of_reading(store, p, {.ranks_per_node = ranks_per_node});
  }
}

// If the I/O of a collector fails, it must serve the remaining tasks of its group. All tasks must get the
// error.
TEST(CollectiveNodes, AFailureIsToldToAll) {
  for (const int ranks_per_node : {4, 12})
    for (const StoreOperation operation : {StoreOperation::write, StoreOperation::read}) {
      const CollectiveProgram p = simple(12, 700'000, 2, 700'000, 6);
      MemoryStore memory;
      write_program(memory, "a", p, 5);
      FaultyStore store(memory);
      int told = 0;
      CommWatch watch{.ranks_per_node = ranks_per_node};
      watched(watch, 9)(12, [&](Comm& comm) {
        const auto fails = [&](auto call) {
          comm.barrier();
          FaultPlan plan;
          plan.fail_at = 0;
          plan.from_then_on = true;
          plan.kind = operation;
          store.set_plan(plan);
          comm.barrier();
          try {
            call();
          } catch (const Error&) {
            ++told;
          }
          comm.barrier();
          store.set_plan({});
          comm.barrier();
        };
        if (operation == StoreOperation::read) {
          Reader reader(store, comm.duplicate(), "a", mode_of("r,collective=6"));
          std::vector<std::byte> out(700'000);
          fails([&] { reader.collective()->read(out, std::nullopt); });
          reader.collective()->read(out, std::nullopt);
          require(out == content(comm.rank(), 0, 700'000), "bytes of the second try");
        } else {
          Writer writer(store, comm.duplicate(), request_of("b", p, comm.rank()),
                        shared_mode_of(comm, "w," + p.words()));
          const auto data = content(comm.rank(), 0, 700'000);
          fails([&] { writer.collective()->write(data, std::nullopt); });
          write_calls(writer, p);
          writer.close();
        }
      });
      EXPECT_EQ(told, 12);
      if (operation == StoreOperation::write) check_program(memory, "b", p);
    }
}

}  // namespace
}  // namespace sheaf::test::collective_nodes_test

// Number of store operations of an open for writing, by the first task and by others. The limits are those in
// docs/api-sion.md.
#include <gtest/gtest.h>

#include <cstdlib>

#include "multifile/journal/ownership.hpp"
#include "multifile/writer/writer.hpp"
#include "support/hosts_store.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::open_costs_test {

using namespace multifile;

namespace {

constexpr int tasks = 6;

// Opens as the interface does: the first task acquires the lease and broadcasts its number. Returns the
// number of operations of this task in the open.
int64_t run(Comm& comm, Store& store, const char* words) {
  FaultyStore counted(store);
  std::shared_ptr<Ownership> ownership;
  if (comm.rank() == 0) ownership = Ownership::take(counted, "a");
  OpenMode mode = shared_mode_of(comm, words);
  int64_t lease[2] = {};
  if (ownership) {
    lease[0] = static_cast<int64_t>(ownership->id());
    lease[1] = ownership->is_local();
  }
  comm.broadcast(std::as_writable_bytes(std::span(lease)), 0);
  mode.lease = static_cast<uint64_t>(lease[0]);
  mode.is_local = lease[1] != 0;
  std::optional<Writer> writer;
  if (mode.append) {
    const int64_t task = comm.rank();
    writer.emplace(
        counted, comm.duplicate(),
        MappedAppendRequest{
            {"a", false, std::span(&task, 1), {}}, tasks, ownership ? ownership->right() : nullptr},
        mode);
  } else {
    ParallelWriteRequest request;
    request.path = "a";
    request.chunk_size = 2000;
    request.fsblksize = 4096;
    writer.emplace(counted, comm.duplicate(), std::move(request), mode);
  }
  writer->own(ownership);
  const int64_t operations = counted.operations();
  writer->stream().write(content(comm.rank(), 0, 1000));
  writer->close();
  return operations;
}

std::vector<int64_t> operations(int hosts_of_tasks, SimulatedHosts& hosts, MemoryStore& memory,
                                const char* words) {
  std::vector<int64_t> found(tasks);
  FiberOptions options = fibers(tasks, 1);
  options.ranks_per_node = tasks / hosts_of_tasks;
  run_fibers(options, [&](Comm& comm) {
    const int rank = comm.rank();
    HostsStore own(hosts, rank / (tasks / hosts_of_tasks), rank);
    Store& store = hosts_of_tasks > 1 ? static_cast<Store&>(own) : memory;
    found[static_cast<size_t>(rank)] = run(comm, store, words);
  });
  return found;
}

TEST(OpenCosts, OfTheFirstTaskAndTheOthers) {
  ::setenv("SHEAF_LEASE_TIMES", "600000,600000", 1);
  struct OpenCostCase {
    int hosts;
    const char* words;
    int64_t first, others;  // upper bounds
  };
  constexpr int64_t with_the_end =
      4;  // for a task next to the end of the file, which reads the checksums there
  for (const OpenCostCase& c :
       {OpenCostCase{1, "w", 4, 1}, OpenCostCase{1, "w,journal=off", 4, 1}, OpenCostCase{3, "w", 7, 1},
        OpenCostCase{3, "w,journal=off", 5, 1}, OpenCostCase{1, "append", 64, 15 + with_the_end},
        OpenCostCase{3, "append", 71, 12 + with_the_end}}) {
    SCOPED_TRACE(std::string(c.words) + ", hosts: " + std::to_string(c.hosts));
    SimulatedHosts hosts;
    MemoryStore memory;
    if (std::string_view(c.words) == "append") operations(c.hosts, hosts, memory, "w,journal=off");
    const auto found = operations(c.hosts, hosts, memory, c.words);
    EXPECT_LE(found[0], c.first);
    for (size_t task = 1; task < found.size(); ++task) EXPECT_LE(found[task], c.others) << task;
  }
  ::unsetenv("SHEAF_LEASE_TIMES");
}

}  // namespace
}  // namespace sheaf::test::open_costs_test

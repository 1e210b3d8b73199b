// Multifiles whose names are created, removed and recreated by hosts, while every host caches names for a
// while.
#include <gtest/gtest.h>

#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "support/hosts_store.hpp"
#include "support/programs.hpp"

namespace sheaf::test::names_on_hosts_test {

using namespace multifile;

namespace {

constexpr int tasks = 6;
constexpr int hosts_of_tasks = 3;
constexpr int64_t bytes = 5'000;

// Decorator of a Store. Handles stale names of simulated hosts as PosixStore does.
class OneHost final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return again<std::shared_ptr<File>>([&] { return inner().open(path, access); });
  }
  FileStatus status(const std::string& path) override {
    return again<FileStatus>([&] { return inner().status(path); });
  }

 private:
  template <class Result, class Call>
  Result again(Call call) {
    try {
      return call();
    } catch (const Error& e) {
      if (e.errno_value() != ESTALE) throw;
    }
    return call();
  }
};

// Runs body(comm, store) on every task. `shift` moves every task that many hosts further, cyclically.
template <class Body>
void on_hosts(SimulatedHosts& hosts, int shift, Body body) {
  FiberOptions options = fibers(tasks, static_cast<uint64_t>(shift));
  options.ranks_per_node = tasks / hosts_of_tasks;
  run_fibers(options, [&](Comm& comm) {
    const int host = (comm.rank() / (tasks / hosts_of_tasks) + shift) % hosts_of_tasks;
    HostsStore own(hosts, host, comm.rank());
    OneHost store(own);
    body(comm, store);
  });
}

void write(SimulatedHosts& hosts, int shift, int round, int nfiles, bool mapped) {
  on_hosts(hosts, shift, [&](Comm& comm, Store& store) {
    // Looks up all files first, so that the host may cache their absence.
    for (int k = 0; k < nfiles; ++k) store.status(format::physical_name("a", k));
    comm.barrier();
    const auto mine = content(comm.rank() + 10 * round, 0, bytes);
    const OpenMode mode = shared_mode_of(comm, "w", 1000);
    if (mapped) {
      const int group = tasks / nfiles;
      const MappedWriteTask task{comm.rank(), 2000, {comm.rank() / group, comm.rank() % group}};
      Writer writer(store, comm.duplicate(), {"a", nfiles, 64 << 10, std::span(&task, 1), {}, {}}, mode);
      writer.stream().write(mine);
      writer.close();
      return;
    }
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = nfiles;
    request.chunk_size = 2000;
    request.fsblksize = 64 << 10;  // each host has its own units
    Writer writer(store, comm.duplicate(), std::move(request), mode);
    writer.stream().write(mine);
    writer.close();
  });
}

void read(SimulatedHosts& hosts, int shift, int round, bool mapped) {
  on_hosts(hosts, shift, [&](Comm& comm, Store& store) {
    const int64_t task = comm.rank();
    std::vector<std::byte> found(bytes + 1);
    if (mapped) {
      Reader reader(store, comm.duplicate(), MappedReadRequest{"a", false, std::span(&task, 1), {}},
                    mode_of("r"));
      found.resize(reader.stream().read(found));
      reader.close();
    } else {
      Reader reader(store, comm.duplicate(), "a", mode_of("r"));
      found.resize(reader.stream().read(found));
      reader.close();
    }
    require(found == content(comm.rank() + 10 * round, 0, bytes),
            "task " + std::to_string(task) + " in round " + std::to_string(round));
  });
}

TEST(NamesOnHosts, AreMadeAnewByWhomeverAndFoundByAll) {
  for (const bool mapped : {false, true})
    for (const int nfiles : {1, 2}) {
      SCOPED_TRACE(std::to_string(nfiles) + (mapped ? " files, mapped" : " files"));
      SimulatedHosts hosts({.absence_is_kept = true});
      for (int round = 0; round < 6; ++round) {
        ASSERT_NO_THROW(write(hosts, round, round, nfiles, mapped)) << round;
        ASSERT_NO_THROW(read(hosts, round + 1, round, mapped)) << round;
        if (round % 2 == 1) continue;  // the next round overwrites the file
        HostsStore any(hosts, round % hosts_of_tasks, 99);
        OneHost store(any);
        for (int k = 0; k < nfiles; ++k) store.remove(format::physical_name("a", k));
      }
    }
}

}  // namespace
}  // namespace sheaf::test::names_on_hosts_test

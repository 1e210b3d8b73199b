// Tasks of hosts that share no page cache: what MPI promises between them (MPI 3.1, 13.6.1) and no file
// system does by itself.
#include <gtest/gtest.h>

#include "comm/agree.hpp"
#include "comm/fiber_comm.hpp"
#include "sharedfile/shared_file.hpp"
#include "storage/faulty_store.hpp"
#include "storage/memory_store.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::shared_hosts_test {
namespace {

constexpr int tasks = 3;
constexpr int64_t page = 64 << 10;
constexpr SharedMode both{.read = true, .write = true, .create = true};

std::vector<std::byte> bytes_of(int task, int round, int64_t count = page) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(31 * task + 7 * round + static_cast<int>(i % 251));
  return bytes;
}

// One task on each host.
template <class Body>
void on_hosts(test::SimulatedHosts& hosts, Body body) {
  FiberOptions options;
  options.ranks = tasks;
  options.stack_bytes = 256 << 10;
  run_fibers(options, [&](Comm& comm) {
    test::HostsStore store(hosts, comm.rank(), comm.rank());
    body(comm, store);
  });
}

Source from(const std::vector<std::byte>& bytes) {
  return {bytes.data(), layout::TypeMap::bytes(1), std::ssize(bytes)};
}

TEST(SharedHosts, SeeWhatWasSyncedBetween) {
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
    for (int round = 0; round < 4; ++round) {
      const auto mine = bytes_of(comm.rank(), round);
      file->write_at({}, comm.rank() * page, from(mine));
      file->sync();
      comm.barrier();
      file->sync();
      for (int t = 0; t < tasks; ++t) {
        std::vector<std::byte> found(page);
        EXPECT_EQ(file->read_at({}, t * page, {found.data(), layout::TypeMap::bytes(1), page}), page);
        EXPECT_EQ(found, bytes_of(t, round))
            << "of task " << t << " at task " << comm.rank() << ", round " << round;
      }
      comm.barrier();
    }
    file->close();
  });
  EXPECT_EQ(hosts.counts().shared_units, 0);
  EXPECT_EQ(hosts.counts().foreign_bytes, 0);
}

TEST(SharedHosts, HaveOneSize) {
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
    for (const int64_t size : {int64_t{5'000}, 3 * page, int64_t{0}, int64_t{77}}) {
      file->resize(size);
      EXPECT_EQ(file->bytes(), size) << "at task " << comm.rank();
      comm.barrier();
    }
    file->close();
  });
}

TEST(SharedHosts, OpenANameThatWasRemovedAndMadeAnew) {
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    for (int round = 0; round < 5; ++round) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
      const auto mine = bytes_of(comm.rank(), round, 100);
      file->write_at({}, comm.rank() * page, from(mine));
      file->close();
      comm.barrier();
      if (comm.rank() == round % tasks) store.remove("file");
      comm.barrier();
    }
  });
}

// Nobody waits for a directory that is not there.
TEST(SharedHosts, AMissingDirectoryIsLookedForOnce) {
  MemoryStore memory;
  FaultPlan plan;
  plan.fail_at = 0;
  plan.from_then_on = true;
  plan.errno_value = ENOENT;
  plan.kind = Operation::open;
  FaultyStore counting(memory, plan);
  EXPECT_TRUE(attempt([&] { SharedFile::open(self_comm(), counting, "missing/file", both, {}); }));
  EXPECT_EQ(counting.operations(Operation::open), 1);
}

}  // namespace
}  // namespace sheaf::shared_hosts_test

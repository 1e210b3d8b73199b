// Tasks of hosts without a common page cache. The library must give guarantees between them (MPI 3.1, 13.6.1)
// that file systems alone do not give.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "comm/agree.hpp"
#include "mpiio/file/shared_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::shared_hosts_test {

using namespace mpiio;

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

// Runs `body` with one task on each host.
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

// When a collective write returns, the data that another host's aggregator wrote must be on the server, even
// if the file system reports writes as done before that.
TEST(SharedHosts, ReadAloneWhatTheyWroteTogether) {
  test::SimulatedHosts hosts({.behind = true});
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
    for (int round = 0; round < 4; ++round) {
      const auto mine = bytes_of(comm.rank(), round, 1000);
      file->write_at_all(file->sequence(), {}, comm.rank() * 1000, from(mine));
      // Task 0 wrote for all tasks. It does not read, because a read would publish its bytes as well.
      std::vector<std::byte> found(1000);
      const Destination to{found.data(), layout::TypeMap::bytes(1), 1000};
      if (comm.rank() > 0) {
        EXPECT_EQ(file->read_at({}, comm.rank() * 1000, to), 1000);
        EXPECT_EQ(found, mine) << "at task " << comm.rank() << ", round " << round;
      }
      comm.barrier();
    }
    file->close();
  });
}

TEST(SharedHosts, ReadWhatTheyWroteByTheSamePlan) {
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
    const auto mine = bytes_of(comm.rank(), 0, 1000);
    file->write_at_all(file->sequence(), {}, comm.rank() * 1000, from(mine));
    std::vector<std::byte> found(1000);
    const Destination to{found.data(), layout::TypeMap::bytes(1), 1000};
    EXPECT_EQ(file->read_at_all(file->sequence(), {}, comm.rank() * 1000, to), 1000);
    EXPECT_EQ(found, mine);
    EXPECT_EQ(file->statistics().plans_made, 1);
    EXPECT_EQ(file->statistics().plans_reused, 1);
    file->close();
  });
}

// A call over a longer range has longer windows, so other tasks become aggregators of the same bytes. The
// previous aggregators must not use their stale caches.
TEST(SharedHosts, ReadWhatAnotherAggregatorHasWrittenSince) {
  constexpr int64_t record = 1024, records = 300, far = 24 << 20;
  const auto view_of = [&](int task, bool reaches_far) {
    std::vector<int64_t> lengths(records, record), places;
    for (int64_t i = 0; i < records; ++i) places.push_back(i * tasks * record);
    if (reaches_far) {
      lengths.push_back(record);
      places.push_back(far);
    }
    View view;
    view.displacement = task * record;
    view.filetype = layout::TypeMap::indexed(lengths, places, layout::TypeMap::bytes(1));
    return view;
  };
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    Hints hints;
    hints.collective_write = hints.collective_read = Choice::enabled;
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints);
    for (int round = 0; round < 4; ++round) {
      const bool reaches_far = round % 2 != 0;
      const auto mine = bytes_of(comm.rank(), round, record * (records + reaches_far));
      file->write_at_all(file->sequence(), view_of(comm.rank(), reaches_far), 0, from(mine));
      for (const bool reads_far : {false, true}) {
        std::vector<std::byte> found(record * records);
        const Destination to{found.data(), layout::TypeMap::bytes(1), std::ssize(found)};
        EXPECT_EQ(file->read_at_all(file->sequence(), view_of(comm.rank(), reads_far), 0, to),
                  std::ssize(found));
        EXPECT_TRUE(std::ranges::equal(found, std::span(mine).first(found.size())))
            << "at task " << comm.rank() << ", round " << round << ", far " << reads_far;
      }
    }
    file->close();
  });
}

// A collective write of records with gaps. The gaps are what task number `tasks` would write.
struct Gapped {
  static constexpr int64_t record = 100, records = 50, size = (tasks + 1) * record * records;

  static View view_of(int task) {
    View view;
    view.displacement = task * record;
    view.filetype = layout::TypeMap::bytes(record).resized(0, (tasks + 1) * record);
    return view;
  }
  static std::vector<std::byte> of(int task) { return bytes_of(task, 0, record * records); }
  static int64_t bytes_read(SharedFile& file) { return file.statistics().file_bytes_read; }

  // Performs the write. Returns the number of bytes that this task read for it.
  static int64_t write(SharedFile& file, int task) {
    const int64_t before = bytes_read(file);
    file.write_at_all(file.sequence(), view_of(task), 0, from(of(task)));
    return bytes_read(file) - before;
  }
  static void check(test::SimulatedHosts& hosts, bool last_too) {
    const auto found = hosts.contents("file");
    ASSERT_EQ(std::ssize(found), size);
    for (int t = 0; t <= tasks; ++t) {
      const auto whole = of(t);
      for (int64_t i = 0; i < record * records; ++i) {
        const auto at = static_cast<size_t>((i / record * (tasks + 1) + t) * record + i % record);
        const auto wanted = t < tasks || last_too ? whole[static_cast<size_t>(i)] : std::byte{};
        ASSERT_EQ(found[at], wanted) << "byte " << i << " of task " << t;
      }
    }
  }
};

Hints hints_of(Choice sieve) {
  Hints hints;
  hints.collective_write = Choice::enabled;
  hints.sieve_write = sieve;
  return hints;
}

// Hosts whose tasks see their own writes at once (false), or only after revalidating, as on MooseFS (true).
class GappedOnHosts : public testing::TestWithParam<bool> {
 protected:
  const test::HostsOptions of_kind{.kind = GetParam() ? FileSystem::moosefs : FileSystem::nfs,
                                   .knows_old_lengths = GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Kinds, GappedOnHosts, testing::Bool());

// If locks cannot show whether another handle writes to the gaps, the library may fill them only if the
// program permits it.
TEST_P(GappedOnHosts, FillGapsIfNobodyElseCanWriteThere) {
  for (const LockScope locks : {LockScope::none, LockScope::host, LockScope::global})
    for (const Choice choice : {Choice::automatic, Choice::disabled, Choice::enabled}) {
      test::HostsOptions options = of_kind;
      options.locks = locks;
      test::SimulatedHosts hosts(options);
      int64_t read = 0;
      on_hosts(hosts, [&](Comm& comm, Store& store) {
        const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints_of(choice));
        file->resize(Gapped::size);
        read += Gapped::write(*file, comm.rank());
        file->close();
      });
      const bool fills =
          choice == Choice::enabled || (choice == Choice::automatic && locks == LockScope::global);
      EXPECT_EQ(read > 0, fills) << static_cast<int>(choice) << " " << static_cast<int>(locks);
      Gapped::check(hosts, false);
    }
}

// Another handle writes to the gaps at the same time, so the library must not fill them.
TEST_P(GappedOnHosts, FillNoGapsWhileAnotherHandleWrites) {
  test::HostsOptions options = of_kind;
  options.locks = LockScope::global;
  test::SimulatedHosts hosts(options);
  std::array<int64_t, 3> read{};  // without, with, and again without another handle
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints_of(Choice::automatic));
    file->resize(Gapped::size);
    read[0] += Gapped::write(*file, comm.rank());
    const auto alone = comm.split(comm.rank(), 0);
    std::unique_ptr<SharedFile> other;
    if (comm.rank() == 2) other = SharedFile::open(alone->duplicate(), store, "file", both, {});
    comm.barrier();
    if (other) other->write_at(Gapped::view_of(tasks), 0, from(Gapped::of(tasks)));
    read[1] += Gapped::write(*file, comm.rank());
    if (other) other->close();
    comm.barrier();
    read[2] += Gapped::write(*file, comm.rank());
    file->close();
  });
  EXPECT_GT(read[0], 0);
  EXPECT_EQ(read[1], 0);
  EXPECT_GT(read[2], 0);
  Gapped::check(hosts, true);
}

// Each task opens the file alone, as PnetCDF does for independent data. The caches of their hosts hold the
// file as it was before the others wrote, so no task may read the bytes between its pieces and write them
// back.
TEST(SharedHosts, WritePiecesThroughSeparateHandles) {
  for (const Choice choice : {Choice::automatic, Choice::enabled}) {
    test::HostsOptions options;
    options.locks = LockScope::global;
    options.locks_revalidate = false;    // unlike NFS
    options.writes_whole_pages = false;  // otherwise two hosts must not write one page
    test::SimulatedHosts hosts(options);
    on_hosts(hosts, [&](Comm& comm, Store& store) {
      const auto whole = SharedFile::open(comm.duplicate(), store, "file", both, {});
      whole->resize(Gapped::size);
      whole->close();
      comm.barrier();
      const auto file = SharedFile::open(comm.split(comm.rank(), 0), store, "file", both, hints_of(choice));
      std::vector<std::byte> found(static_cast<size_t>(Gapped::size));
      file->read_at({}, 0, {found.data(), layout::TypeMap::bytes(1), Gapped::size});
      for (int task = 0; task < tasks; ++task) {
        comm.barrier();
        if (task != comm.rank()) continue;
        file->write_at(Gapped::view_of(task), 0, from(Gapped::of(task)));
        file->sync();
      }
      file->close();
    });
    Gapped::check(hosts, false);
  }
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

TEST(SharedHosts, PreallocateLeavesWhatAnotherHostHasAppended) {
  test::SimulatedHosts hosts;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
    if (comm.rank() == tasks - 1) file->write_at({}, 2 * page, from(bytes_of(2, 0)));
    comm.barrier();
    file->preallocate(page);
    EXPECT_EQ(file->bytes(), 3 * page) << "at task " << comm.rank();
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

// A host with large pages writes back more than its data, and only that host knows its page size. File
// domains must begin at page boundaries of every host.
TEST(SharedHosts, MayHavePagesOfDifferentSizes) {
  for (const auto& pages :
       {std::vector<int64_t>{4 << 10, page, 4 << 10}, std::vector<int64_t>{page, 4 << 10, 4 << 10}})
    for (const int64_t piece : {1'000, 20 << 10, 210'000}) {
      test::SimulatedHosts hosts({.pages = pages});
      Hints hints;
      hints.aggregators = tasks;
      hints.buffer_size = 150'000;
      hints.collective_write = Choice::enabled;
      on_hosts(hosts, [&](Comm& comm, Store& store) {
        const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints);
        const auto mine = bytes_of(comm.rank(), 0, piece);
        file->write_at_all(file->sequence(), {}, comm.rank() * piece, from(mine));
        file->close();
      });
      const auto found = hosts.contents("file");
      ASSERT_EQ(std::ssize(found), tasks * piece);
      for (int t = 0; t < tasks; ++t) {
        const auto mine =
            std::span(found).subspan(static_cast<size_t>(t * piece), static_cast<size_t>(piece));
        EXPECT_TRUE(std::ranges::equal(mine, bytes_of(t, 0, piece)))
            << "task " << t << ", " << piece << " bytes";
      }
      EXPECT_EQ(hosts.counts().shared_units, 0) << piece << " bytes";
    }
}

// A missing directory must not delay the open.
TEST(SharedHosts, AMissingDirectoryIsLookedForOnce) {
  MemoryStore memory;
  FaultPlan plan;
  plan.fail_at = 0;
  plan.from_then_on = true;
  plan.errno_value = ENOENT;
  plan.kind = StoreOperation::open;
  FaultyStore counting(memory, plan);
  EXPECT_TRUE(attempt([&] { SharedFile::open(self_comm(), counting, "missing/file", both, {}); }));
  EXPECT_EQ(counting.operations(StoreOperation::open), 1);
}

TEST(SharedHosts, AnExclusiveNameThatIsTakenIsToldAtOnce) {
  test::SimulatedHosts hosts;
  SharedMode fresh = both;
  fresh.exclusive = true;
  on_hosts(hosts, [&](Comm& comm, Store& store) {
    SharedFile::open(comm.duplicate(), store, "file", fresh, {})->close();
    FaultyStore counting(store);
    const auto problem = attempt([&] { SharedFile::open(comm.duplicate(), counting, "file", fresh, {}); });
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code(), Code::io);
    // Task 0 opens the file once and asks once whether the name exists on the server.
    EXPECT_EQ(counting.operations(StoreOperation::open), comm.rank() == 0 ? 2 : 0);
  });
}

TEST(SharedHosts, RefuseAtomicModeWhereLocksEndAtTheHost) {
  for (const LockScope locks : {LockScope::none, LockScope::host}) {
    test::SimulatedHosts hosts({.locks = locks});
    on_hosts(hosts, [&](Comm& comm, Store& store) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
      const auto problem = attempt([&] { file->set_atomic(true); });
      ASSERT_TRUE(problem);
      EXPECT_EQ(problem->code(), Code::unsupported);
      EXPECT_NE(std::string(problem->what()).find("'file'"), std::string::npos) << problem->what();
      EXPECT_FALSE(file->atomic());
      file->set_atomic(false);
      file->close();
    });
  }
}

// All tasks write the same bytes in turn, in atomic mode. Each task must find the data of the previous one.
TEST(SharedHosts, SeeInAtomicModeWhatHasReturned) {
  for (const int64_t direct : {0, 1, 2}) {
    test::SimulatedHosts hosts({.locks = LockScope::global,
                                .direct = std::min<int64_t>(direct, 1),
                                .behind = direct == 2,
                                .locks_revalidate = false});
    on_hosts(hosts, [&](Comm& comm, Store& store) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", both, {});
      file->set_atomic(true);
      for (int round = 0; round < 4 * tasks; ++round) {
        if (comm.rank() == round % tasks) {
          std::vector<std::byte> found(100);
          const int64_t got = file->read_at({}, 50, {found.data(), layout::TypeMap::bytes(1), 100});
          EXPECT_EQ(got, round > 0 ? 100 : 0);
          EXPECT_EQ(found, round > 0 ? bytes_of(0, round - 1, 100) : std::vector<std::byte>(100));
          file->write_at({}, 50, from(bytes_of(0, round, 100)));
        }
        comm.barrier();
      }
      file->close();
    });
    EXPECT_EQ(hosts.counts().mixed_units, 0);
  }
}

}  // namespace
}  // namespace sheaf::shared_hosts_test

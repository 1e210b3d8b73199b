// Small independent writes that wait in memory, on simulated hosts without a common page cache.
#include <gtest/gtest.h>

#include "comm/agree.hpp"
#include "mpiio/file/held_pieces.hpp"
#include "support/forwarding_comm.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::held_writes_test {

using namespace held_pieces;
using namespace mpiio;

namespace {

// Writes the pieces of all tasks and makes `finish`, a collective call. Returns the requests to the server
// until then.
template <class Finish>
int64_t server_writes(const test::HostsOptions& options, Choice choice, Finish finish) {
  test::SimulatedHosts hosts(options);
  int64_t writes = 0;
  with_file(hosts, choice, [&](Comm& comm, SharedFile& file) {
    const auto mine = SmallPieces::of(comm.rank());
    EXPECT_EQ(file.write_at(SmallPieces::view_of(comm.rank()), 0, from(mine)), SmallPieces::bytes);
    finish(file, comm.rank());
    comm.barrier();
    if (comm.rank() == 0) writes = hosts.counts().server_writes;
    comm.barrier();
  });
  SmallPieces::check(hosts.contents("file"));
  return writes;
}

void sync(SharedFile& file, int) { file.sync(); }

TEST(HeldWrites, ReachTheServerInFewRequests) {
  const auto read_all = [](SharedFile& file, int task) {
    std::vector<std::byte> found(SmallPieces::bytes);
    const View view = SmallPieces::view_of((task + 1) % tasks);
    EXPECT_EQ(file.read_at_all(file.sequence(), view, 0, into(found)), SmallPieces::bytes);
    EXPECT_EQ(found, SmallPieces::of((task + 1) % tasks));
  };
  const auto write_all = [](SharedFile& file, int task) {
    const auto mine = SmallPieces::of(task);
    file.write_at_all(file.sequence(), SmallPieces::view_of(task), 0, from(mine));
  };
  for (const FileSystem kind : {FileSystem::nfs, FileSystem::moosefs, FileSystem::glusterfs}) {
    const test::HostsOptions options{.kind = kind};
    EXPECT_LE(server_writes(options, Choice::automatic, sync), tasks);
    EXPECT_LE(server_writes(options, Choice::automatic, read_all), tasks);
    EXPECT_LE(server_writes(options, Choice::automatic, write_all), 2 * tasks);
    EXPECT_LE(server_writes(options, Choice::automatic, [](SharedFile& file, int) { file.preallocate(9); }),
              tasks);
    EXPECT_GE(server_writes(options, Choice::disabled, sync), tasks * SmallPieces::pieces);
  }
}

TEST(HeldWrites, AreWrittenAtTheClose) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const auto mine = SmallPieces::of(comm.rank());
    file.write_at(SmallPieces::view_of(comm.rank()), 0, from(mine));
    EXPECT_EQ(hosts.counts().server_writes, 0);
  });
  EXPECT_LE(hosts.counts().server_writes, tasks);
  SmallPieces::check(hosts.contents("file"));
}

// Single pieces wait only if the program asks for it.
TEST(HeldWrites, OfOnePieceAreWrittenAtOnceByDefault) {
  for (const Choice choice : {Choice::automatic, Choice::enabled}) {
    test::SimulatedHosts hosts;
    with_file(hosts, choice, [&](Comm& comm, SharedFile& file) {
      const auto mine = SmallPieces::of(comm.rank());
      for (int64_t at = 0; at < SmallPieces::bytes; at += SmallPieces::length) {
        const Source piece{mine.data() + at, TypeMap::bytes(1), SmallPieces::length};
        file.write_at(SmallPieces::view_of(comm.rank()), at, piece);
      }
      comm.barrier();
      EXPECT_EQ(hosts.counts().server_writes, choice == Choice::enabled ? 0 : tasks * SmallPieces::pieces);
      comm.barrier();
    });
    EXPECT_LE(hosts.counts().server_writes, (choice == Choice::enabled ? 1 : SmallPieces::pieces) * tasks);
    SmallPieces::check(hosts.contents("file"));
  }
}

// Sizes, positions from the end, and independent reads include the writes that wait.
TEST(HeldWrites, AreSeenByTheirTask) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const auto mine = SmallPieces::of(comm.rank());
    const View view = SmallPieces::view_of(comm.rank());
    EXPECT_EQ(file.bytes(), 0);
    file.write_at(view, 0, from(mine));
    EXPECT_EQ(file.bytes(), view.offset_of(SmallPieces::bytes - 1) + 1);
    EXPECT_EQ(file.end_of_stream(view), SmallPieces::bytes);
    std::vector<std::byte> found(SmallPieces::bytes + 1);
    EXPECT_EQ(file.read_at(view, 0, into(found)), SmallPieces::bytes);
    EXPECT_TRUE(std::equal(mine.begin(), mine.end(), found.begin()));
    // The gaps belong to tasks that have written nothing yet, or hold their bytes.
    std::vector<std::byte> all(static_cast<size_t>(SmallPieces::size));
    EXPECT_EQ(file.read_at({}, 0, into(all)), file.bytes());
    for (int64_t i = 0; i < SmallPieces::bytes; ++i)
      ASSERT_EQ(all[static_cast<size_t>(view.offset_of(i))], mine[static_cast<size_t>(i)]);
    EXPECT_EQ(hosts.counts().server_writes, 0);
    // All tasks have the same size after a collective query of the shared pointer (MPI_File_seek_shared).
    file.shared_position();
    EXPECT_EQ(file.bytes(), SmallPieces::size);
  });
  SmallPieces::check(hosts.contents("file"));
}

// The instances of the file type overlap, which only reads allow. The file ends within such an overlap.
TEST(HeldWrites, AreReadByExtentsThatOverlap) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    if (comm.rank() == tasks - 1) {
      std::vector<std::byte> mine(200, std::byte{9});
      file.write_at({}, 0, {mine.data(), TypeMap::bytes(1), 107});
      const View beyond{.displacement = 120, .filetype = TypeMap::bytes(1).resized(0, 2)};
      file.write_at(beyond, 0, {mine.data(), TypeMap::bytes(1), 40});
      const View overlapping{.filetype = TypeMap::bytes(4).resized(0, 2)};
      std::vector<std::byte> found(220);
      EXPECT_EQ(file.read_at(overlapping, 0, into(found)), 220);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], i / 4 * 2 + i % 4 < 107 ? std::byte{9} : std::byte()) << i;
    }
  });
}

// Each task has written its bytes by itself before, so its host may have older bytes in the cache.
TEST(HeldWrites, AreReadCollectivelyByTheirTask) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const int64_t base = SmallPieces::bytes * comm.rank();
    const auto older = SmallPieces::of(comm.rank()), newer = SmallPieces::of(comm.rank(), 1);
    file.write_at({}, base, from(older));
    const View view{.displacement = base, .filetype = TypeMap::bytes(1).resized(0, 2)};
    file.write_at(view, 0, {newer.data(), TypeMap::bytes(1), SmallPieces::bytes / 2});
    std::vector<std::byte> found(SmallPieces::bytes);
    EXPECT_EQ(file.read_at_all(file.sequence(), {}, base, into(found)), SmallPieces::bytes);
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i % 2 == 0 ? newer[i / 2] : older[i]) << i;
  });
}

TEST(HeldWrites, AreWrittenBeforeTheFileGetsAnotherSize) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const auto mine = SmallPieces::of(comm.rank());
    file.write_at(SmallPieces::view_of(comm.rank()), 0, from(mine));
    file.resize(100);
    EXPECT_EQ(file.bytes(), 100);
    comm.barrier();
    file.write_at(SmallPieces::view_of(comm.rank()), 0, from(mine));
    file.preallocate(2 * SmallPieces::size);
    EXPECT_EQ(file.bytes(), 2 * SmallPieces::size);
    comm.barrier();
    file.resize(SmallPieces::size);
  });
  SmallPieces::check(hosts.contents("file"));
}

// A task writes its bytes again by other calls while older ones wait. The last bytes count.
TEST(HeldWrites, AreOlderThanTheNextWrite) {
  const auto independent = [](SharedFile& file, const View& view, const std::vector<std::byte>& data) {
    for (int64_t at = 0; at < SmallPieces::bytes; at += 1000) {  // too few pieces to wait
      const int64_t end = std::min<int64_t>(at + 40, SmallPieces::bytes);
      file.write_at(view, at, {data.data() + at, TypeMap::bytes(1), end - at});
    }
  };
  const auto collective = [](SharedFile& file, const View& view, const std::vector<std::byte>& data) {
    file.write_at_all(file.sequence(), view, 0, from(data));
  };
  for (const Choice exchange : {Choice::automatic, Choice::disabled, Choice::enabled}) {
    test::SimulatedHosts hosts;
    on_hosts([&](Comm& comm) {
      test::HostsStore store(hosts, comm.rank(), comm.rank());
      Hints hints = hold(Choice::automatic);
      hints.collective_write = exchange;
      const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints);
      const View view = SmallPieces::view_of(comm.rank());
      const auto older = SmallPieces::of(comm.rank()), newer = SmallPieces::of(comm.rank(), 1);
      file->write_at(view, 0, from(older));
      collective(*file, view, newer);
      file->sync();
      if (comm.rank() == 0) SmallPieces::check(hosts.contents("file"), 1);
      comm.barrier();
      file->write_at(view, 0, from(older));
      independent(*file, view, newer);
      std::vector<std::byte> expected = older, found(SmallPieces::bytes);
      for (int64_t at = 0; at < SmallPieces::bytes; at += 1000)
        std::copy_n(newer.begin() + at, 40, expected.begin() + at);
      EXPECT_EQ(file->read_at(view, 0, into(found)), SmallPieces::bytes);
      EXPECT_EQ(found, expected);
      file->close();
    });
    const auto all = hosts.contents("file");
    for (int task = 0; task < tasks; ++task)
      for (int64_t i = 0; i < SmallPieces::bytes; ++i)
        ASSERT_EQ(all[static_cast<size_t>(SmallPieces::view_of(task).offset_of(i))],
                  SmallPieces::of(task, i % 1000 < 40 ? 1 : 0)[static_cast<size_t>(i)])
            << "byte " << i << " of task " << task;
  }
}

TEST(HeldWrites, OfMoreThanTheMemoryAreWrittenBefore) {
  constexpr int64_t record = 16 << 10, records = 64, rounds = 20;  // 20 MiB of a task
  test::SimulatedHosts hosts;
  const auto view_of = [](int task) {
    return View{.displacement = record * task, .filetype = TypeMap::bytes(record).resized(0, record * tasks)};
  };
  const auto data_of = [](int task, int64_t round) {
    return std::vector<std::byte>(record * records, static_cast<std::byte>(20 * task + round));
  };
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const View view = view_of(comm.rank());
    for (int64_t round = 0; round < rounds; ++round)
      file.write_at(view, round * record * records, from(data_of(comm.rank(), round)));
    EXPECT_GT(hosts.counts().server_writes, 0);
    for (int64_t round = 0; round < rounds; ++round) {
      std::vector<std::byte> found(record * records);
      EXPECT_EQ(file.read_at(view, round * record * records, into(found)), std::ssize(found));
      EXPECT_EQ(found, data_of(comm.rank(), round)) << round;
    }
    comm.barrier();
  });
  const auto all = hosts.contents("file");
  ASSERT_EQ(std::ssize(all), record * records * rounds * tasks);
  for (int64_t at = 0; at < std::ssize(all); at += record) {
    const auto task = static_cast<int>(at / record % tasks);
    const int64_t round = at / (record * tasks * records);
    ASSERT_EQ(all[static_cast<size_t>(at)], static_cast<std::byte>(20 * task + round)) << at;
  }
}

// A call that is refused before any byte moves leaves held bytes where they are.
TEST(HeldWrites, SurviveARefusedCall) {
  test::SimulatedHosts hosts;
  with_file(hosts, Choice::automatic, [&](Comm& comm, SharedFile& file) {
    const View view = SmallPieces::view_of(comm.rank());
    const auto mine = SmallPieces::of(comm.rank());
    file.write_at(view, 0, from(mine));
    const int64_t position = comm.rank() == 1 ? -1 : 0;
    EXPECT_TRUE(attempt([&] { file.write_at_all(file.sequence(), view, position, from(mine)); }));
    EXPECT_EQ(hosts.counts().server_writes, 0);
    file.sync();
  });
  SmallPieces::check(hosts.contents("file"));
}

// Counts the reductions and broadcasts of a task.
class CountingComm final : public test::ForwardingComm {
 public:
  CountingComm(std::unique_ptr<Comm> comm, int64_t& calls) : ForwardingComm(std::move(comm)), calls_(calls) {}
  void reduce(Reduction how, std::span<int64_t> values) override {
    ++calls_;
    comm_->reduce(how, values);
  }
  void broadcast(std::span<std::byte> data, int root) override {
    ++calls_;
    comm_->broadcast(data, root);
  }

 private:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return std::make_unique<CountingComm>(std::move(comm), calls_);
  }
  int64_t& calls_;
};

// If no task holds writes, collective calls take as many messages as if writes must not wait.
TEST(HeldWrites, CostNothingWhereNoTaskHoldsAny) {
  const auto calls_with = [](Choice choice) {
    test::SimulatedHosts hosts;
    std::vector<int64_t> counts;
    on_hosts([&](Comm& comm) {
      test::HostsStore store(hosts, comm.rank(), comm.rank());
      int64_t calls = 0;
      auto counting = std::make_unique<CountingComm>(comm.duplicate(), calls);
      const auto file = SharedFile::open(std::move(counting), store, "file", both, hold(choice));
      const View view = SmallPieces::view_of(comm.rank());
      auto mine = SmallPieces::of(comm.rank());
      const auto count = [&](auto call) {
        const int64_t before = calls;
        call();
        if (comm.rank() == 0) counts.push_back(calls - before);
      };
      count([&] { file->write_at_all(file->sequence(), view, 0, from(mine)); });
      count([&] { file->write_at_all(file->sequence(), view, 0, from(mine)); });
      count([&] { file->read_at_all(file->sequence(), view, 0, into(mine)); });
      count([&] { file->sync(); });
      count([&] { file->set_view(view, SharedFile::Agreed::deferred); });
      count([&] { file->shared_position(); });
      count([&] { file->preallocate(10); });
      file->close();
    });
    return counts;
  };
  EXPECT_EQ(calls_with(Choice::enabled), calls_with(Choice::disabled));
}

}  // namespace
}  // namespace sheaf::held_writes_test

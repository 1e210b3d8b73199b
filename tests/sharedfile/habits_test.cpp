// What one file's last collective transfer was like decides whether tasks may leave the first one of the next.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/fiber_comm.hpp"
#include "sharedfile/shared_file.hpp"
#include "storage/faulty_store.hpp"
#include "storage/forwarding_file.hpp"
#include "storage/memory_store.hpp"

namespace sheaf::habits_test {
namespace {

constexpr int64_t large = 64 << 10;

// Files on a disk with room.
class RoomyStore final : public Store {
 public:
  explicit RoomyStore(Store& inner) : inner_(inner) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    class RoomyFile final : public ForwardingFile {
     public:
      using ForwardingFile::ForwardingFile;
      int64_t room_left() override { return int64_t{1} << 50; }
    };
    return std::make_shared<RoomyFile>(inner_.open(path, access));
  }
  FileStatus status(const std::string& path) override { return inner_.status(path); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }

 private:
  Store& inner_;
};

// Writes a file in `calls` collective calls, of which each task takes pieces of `bytes`; returns how many calls it has left.
int64_t left_of(Comm& comm, Store& store, Habits& habits, int64_t bytes, int calls = 2, bool reads = false) {
  const auto file =
      SharedFile::open(comm.duplicate(), store, "file", {.read = reads, .write = !reads, .create = !reads}, {}, &habits);
  std::vector<std::byte> data(static_cast<size_t>(bytes), std::byte{5});
  for (int call = 0; call < calls; ++call) {
    const int64_t at = (call * comm.size() + comm.rank()) * bytes;
    if (reads) {
      file->read_at_all(file->lane(), *file->view(), at, {data.data(), layout::TypeMap::bytes(1), bytes});
    } else {
      file->write_at_all(file->lane(), *file->view(), at, {data.data(), layout::TypeMap::bytes(1), bytes});
    }
  }
  file->close();
  return file->statistics().ahead_calls;
}

TEST(Habits, TheNextFileIsExpectedToBeLikeTheLast) {
  MemoryStore memory;
  RoomyStore store(memory);
  Habits habits;
  run_fibers({.ranks = 3, .stack_bytes = 512 << 10, .ranks_per_node = 3}, [&](Comm& comm) {
    EXPECT_EQ(left_of(comm, store, habits, large), 1) << "the first file";
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, large), 2);
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, 0, 0), 0) << "no transfer tells nothing";
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, large, 1), 1);
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, large, 2, true), 1) << "the first file that is read";
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, 10), 0) << "small pieces need the others";
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, large), 1);
    comm.barrier();
    const auto pair = comm.split(comm.rank() / 2, comm.rank());
    if (comm.rank() < 2) {
      EXPECT_EQ(left_of(*pair, store, habits, large), 1) << "other tasks";
    }
  });
}

TEST(Habits, WithoutThemAFileKnowsNothingOfOthers) {
  MemoryStore memory;
  RoomyStore store(memory);
  run_fibers({.ranks = 3, .stack_bytes = 512 << 10, .ranks_per_node = 3}, [&](Comm& comm) {
    for (int i = 0; i < 3; ++i) {
      Habits own;
      EXPECT_EQ(left_of(comm, store, own, large), 1);
      comm.barrier();
    }
  });
}

// The task that fails in the only call throws there, all others in the close.
TEST(Habits, AFailureInTheOnlyCallIsToldByTheClose) {
  MemoryStore memory;
  FaultyStore faulty(memory);
  RoomyStore store(faulty);
  Habits habits;
  int in_call = 0, in_close = 0;
  run_fibers({.ranks = 3, .stack_bytes = 512 << 10, .ranks_per_node = 3}, [&](Comm& comm) {
    left_of(comm, store, habits, large);
    comm.barrier();
    const auto file = SharedFile::open(comm.duplicate(), store, "file", {.write = true, .create = true}, {}, &habits);
    if (comm.rank() == 0) faulty.set_plan({.fail_at = 0, .kind = Operation::write, .path_contains = {}});
    comm.barrier();
    const std::vector<std::byte> data(large, std::byte{6});
    in_call += attempt([&] {
                 file->write_at_all(file->lane(), *file->view(), comm.rank() * large, {data.data(), layout::TypeMap::bytes(1), large});
               }).has_value();
    in_close += attempt([&] { file->close(); }).has_value();
    comm.barrier();
    EXPECT_EQ(left_of(comm, store, habits, large), 1) << "after a failure nobody leaves the first call";
  });
  EXPECT_EQ(in_call, 1);
  EXPECT_EQ(in_close, 3);
}

}  // namespace
}  // namespace sheaf::habits_test

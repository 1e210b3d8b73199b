// Tasks that open one file after another reuse the memory of windows. No bytes of an earlier file may get
// into a later file.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "exchange/collective_executor.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"
#include "support/watched_comm.hpp"

namespace sheaf::exchange::kept_window_pool_test {
namespace {

using layout::TypeMap;

constexpr int tasks = 4;

// The `count` records of a task, of 100 bytes each. A task has one of every `stride` records of the file.
// With stride == tasks, the tasks fill the file. A larger stride leaves gaps.
struct Records {
  int64_t count;
  int64_t stride;

  int64_t size() const { return count * stride * 100; }
  TypeMap map() const { return TypeMap::bytes(100).resized(0, stride * 100); }
};

class KeptWindowPool : public ::testing::Test {
 protected:
  // Writes the records and reads them back in collective calls. `buffer` is the size of a window in bytes, or
  // 0 for the default.
  static void write(Comm& comm, Store& store, const std::string& name, const Records& records, uint8_t salt,
                    int64_t buffer = 0) {
    CollectiveExecutor transfers(comm);
    const auto file = store.open(name, sheaf::Access::create);
    CollectiveOptions how;
    how.buffer = buffer;
    IoCounters counters;
    const TypeMap map = records.map();
    std::vector<std::byte> data(static_cast<size_t>(records.count * 100));
    for (size_t i = 0; i < data.size(); ++i) data[i] = value(comm.rank(), static_cast<int64_t>(i), salt);
    const FileAccess own{comm.rank() * 100, &map, 0, std::ssize(data), data.data(), &contiguous_bytes()};
    transfers.write(*file, own, how, std::nullopt, counters);
    comm.barrier();
    std::vector<std::byte> back(data.size());
    const FileAccess into{comm.rank() * 100, &map, 0, std::ssize(back), back.data(), &contiguous_bytes()};
    EXPECT_EQ(transfers.read(*file, into, how, std::nullopt, counters), std::ssize(back));
    EXPECT_TRUE(back == data);
    comm.barrier();
  }

  static std::byte value(int rank, int64_t i, uint8_t salt) {
    return static_cast<std::byte>(rank * 31 + i * 7 + i / 100 + salt);
  }

  static void expect_file(Store& store, const std::string& name, const Records& records, uint8_t salt) {
    const auto file = store.open(name, sheaf::Access::read);
    std::vector<std::byte> bytes(static_cast<size_t>(records.size()));
    file->read_at(bytes, 0);
    for (int64_t i = 0; i < std::ssize(bytes); ++i) {
      const int64_t place = i / 100 % records.stride;
      const std::byte wanted =
          place < tasks ? value(static_cast<int>(place), i / 100 / records.stride * 100 + i % 100, salt)
                        : std::byte{};
      ASSERT_EQ(bytes[static_cast<size_t>(i)], wanted) << name << " at " << i;
    }
  }

  template <class Body>
  void on_tasks(Body body, uint64_t seed = 1) {
    test::CommWatch watch;
    watch.ranks_per_node = tasks;
    watch.keeps_memory = true;
    run_fibers({.ranks = tasks, .stack_bytes = 512 << 10, .seed = seed, .ranks_per_node = tasks},
               [&](Comm& comm) {
                 test::WatchedComm watched(comm.duplicate(), watch, comm.rank());
                 body(watched);
               });
  }
};

TEST_F(KeptWindowPool, NothingOfEarlierFilesShows) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Records> files;
    for (int i = 0; i < 6; ++i)
      files.push_back(
          {1 + static_cast<int64_t>(random() % 4000), tasks + static_cast<int64_t>(random() % 4)});
    MemoryStore store;
    on_tasks(
        [&](Comm& comm) {
          for (size_t i = 0; i < files.size(); ++i)
            write(comm, store, std::to_string(i), files[i], static_cast<uint8_t>(i));
        },
        seed);
    for (size_t i = 0; i < files.size(); ++i)
      expect_file(store, std::to_string(i), files[i], static_cast<uint8_t>(i));
  }
}

TEST_F(KeptWindowPool, NothingOfOtherSizesAndUsesShows) {
  MemoryStore store;
  const Records gaps{3000, tasks + 2};
  on_tasks([&](Comm& comm) {
    write(comm, store, "large", gaps, 1);
    write(comm, store, "small", gaps, 2, 64 << 10);
    {
      const auto other = comm.share_memory(1 << 20);
      if (comm.rank() == 0) std::fill(other->bytes().begin(), other->bytes().end(), std::byte{0x5a});
      comm.barrier();
    }
    write(comm, store, "behind", gaps, 3);
  });
  expect_file(store, "large", gaps, 1);
  expect_file(store, "small", gaps, 2);
  expect_file(store, "behind", gaps, 3);
}

}  // namespace
}  // namespace sheaf::exchange::kept_window_pool_test

// Ranges that a File has for itself, in every store.
#include "storage/range_locks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "storage/memory_store.hpp"
#include "storage/store.hpp"

namespace sheaf {
namespace {

// Whether `locking` has to wait until `free` is called.
template <class Locking, class Free>
bool waits(Locking locking, Free free) {
  std::atomic<bool> locked = false;
  std::thread other([&] {
    locking();
    locked = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const bool waited = !locked;
  free();
  other.join();
  return waited;
}

TEST(RangeLocks, ExcludeWhoOverlaps) {
  RangeLocks locks;
  const auto other = [&](int64_t offset, int64_t length, bool exclusive) {
    return waits([&] { locks.lock(offset, length, exclusive); locks.unlock(offset, length); }, [&] { locks.unlock(10, 10); });
  };
  locks.lock(10, 10, true);
  EXPECT_TRUE(other(19, 5, true));
  locks.lock(10, 10, true);
  EXPECT_TRUE(other(0, 11, false));
  locks.lock(10, 10, true);
  EXPECT_FALSE(other(20, INT64_MAX - 20, true));
  locks.lock(10, 10, true);
  EXPECT_FALSE(other(0, 10, true));
  locks.lock(10, 10, false);
  EXPECT_FALSE(other(0, 100, false));
  locks.lock(10, 10, false);
  EXPECT_TRUE(other(0, 100, true));
}

void expect_exclusion(File& one, File& two) {
  one.lock(100, 50, true);
  EXPECT_TRUE(waits([&] { two.lock(120, 10, true); }, [&] { one.unlock(100, 50); }));
  EXPECT_FALSE(waits([&] { one.lock(0, 50, true); }, [] {}));
  one.unlock(0, 50);
  two.unlock(120, 10);
}

TEST(FileLocks, ExcludeTwoOpensAndTwoThreadsOfOneProcess) {
  MemoryStore memory;
  const auto a = memory.open("file", Access::create);
  expect_exclusion(*a, *memory.open("file", Access::write));
  expect_exclusion(*a, *a);

  const std::string path = (std::filesystem::temp_directory_path() / ("sheaf_locks." + std::to_string(::getpid()))).string();
  const auto one = posix_store().open(path, Access::create);
  expect_exclusion(*one, *posix_store().open(path, Access::write));
  expect_exclusion(*one, *one);
  posix_store().remove(path);
}

TEST(FileRoom, IsAllocatedWithoutLosingWhatIsThere) {
  const std::string path = (std::filesystem::temp_directory_path() / ("sheaf_room." + std::to_string(::getpid()))).string();
  MemoryStore memory;
  for (Store* store : {static_cast<Store*>(&memory), &posix_store()}) {
    const auto file = store->open(path, Access::create);
    const std::byte one{7};
    file->write_at({&one, 1}, 9999);
    file->allocate(5000);
    EXPECT_EQ(file->status().size, 10000);
    file->allocate(20000);
    EXPECT_EQ(file->status().size, 20000);
    std::byte found{};
    file->read_at({&found, 1}, 9999);
    EXPECT_EQ(found, one);
    store->remove(path);
  }
}

}  // namespace
}  // namespace sheaf

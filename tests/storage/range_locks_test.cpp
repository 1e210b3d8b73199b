// Exclusive ranges of a File, in every store.
#include "storage/posix/range_locks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "storage/store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::range_locks_test {
namespace {

constexpr std::chrono::milliseconds for_long{60'000}, at_once{0};

// Returns whether `locking` has to wait until `free` is called.
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
    return waits(
        [&] {
          EXPECT_TRUE(locks.lock(offset, length, exclusive, for_long));
          locks.unlock(offset, length);
        },
        [&] { locks.unlock(10, 10); });
  };
  const auto lock = [&](bool exclusive) { ASSERT_TRUE(locks.lock(10, 10, exclusive, for_long)); };
  lock(true);
  EXPECT_TRUE(other(19, 5, true));
  lock(true);
  EXPECT_TRUE(other(0, 11, false));
  lock(true);
  EXPECT_FALSE(other(20, INT64_MAX - 20, true));
  lock(true);
  EXPECT_FALSE(other(0, 10, true));
  lock(false);
  EXPECT_FALSE(other(0, 100, false));
  lock(false);
  EXPECT_TRUE(other(0, 100, true));
}

TEST(RangeLocks, AreTriedWithoutWaiting) {
  RangeLocks locks;
  EXPECT_TRUE(locks.lock(10, 10, true, at_once));
  EXPECT_FALSE(locks.lock(19, 5, false, at_once));
  EXPECT_TRUE(locks.lock(20, 5, true, at_once));
  locks.unlock(10, 10);
  EXPECT_TRUE(locks.lock(0, 20, false, at_once));
}

void expect_exclusion(File& one, File& two) {
  RangeLock first = one.lock(100, 50, true);
  RangeLock second, third;
  EXPECT_TRUE(waits([&] { second = two.lock(120, 10, true); }, [&] { first = {}; }));
  EXPECT_FALSE(one.lock(125, 1, true, OnConflict::refusal));
  EXPECT_FALSE(waits([&] { third = one.lock(0, 50, true); }, [] {}));
  EXPECT_TRUE(second && third);
}

TEST(FileLocks, ExcludeTwoOpensAndTwoThreadsOfOneProcess) {
  MemoryStore memory;
  const auto a = memory.open("file", Access::create);
  expect_exclusion(*a, *memory.open("file", Access::write));
  expect_exclusion(*a, *a);

  const std::string path =
      (std::filesystem::temp_directory_path() / ("sheaf_locks." + std::to_string(::getpid()))).string();
  const auto one = posix_store().open(path, Access::create);
  expect_exclusion(*one, *posix_store().open(path, Access::write));
  expect_exclusion(*one, *one);
  posix_store().remove(path);
}

TEST(RangeLocks, AreNotWaitedForWithoutEnd) {
  RangeLocks locks;
  ASSERT_TRUE(locks.lock(10, 10, true, for_long));
  EXPECT_FALSE(locks.lock(15, 10, true, std::chrono::milliseconds(20)));
  locks.unlock(10, 10);
  EXPECT_TRUE(locks.lock(15, 10, true, std::chrono::milliseconds(0)));
}

TEST(LockTimeout, IsForAllTasksOneAfterTheOtherAndHasABound) {
  EXPECT_GE(lock_timeout(1, 0), std::chrono::seconds(1));
  EXPECT_GE(lock_timeout(100, 1 << 20) - lock_timeout(1, 0), std::chrono::seconds(90));
  EXPECT_GT(lock_timeout(1000, 1 << 20), lock_timeout(100, 1 << 20));
  EXPECT_EQ(lock_timeout(8, INT64_MAX), lock_timeout(8, int64_t{1} << 40));
  EXPECT_GT(lock_timeout(INT64_MAX, INT64_MAX), std::chrono::seconds(0));
}

// A lock of a program on a part of a file or the whole file, acquired by the usual calls.
class ProgramLock : public ::testing::Test {
 protected:
  void TearDown() override {
    give_back();
    if (file) posix_store().remove(path);
  }

  // Locks the range in this process or in a second one. (A lock of lockf belongs to the process, not to a
  // descriptor.)
  void take(int64_t offset, int64_t length, bool by_another) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    child = by_another ? ::fork() : 0;
    if (child == 0) {
      const int own = ::open(path.c_str(), O_RDWR);
      struct flock range {};
      range.l_type = F_WRLCK;
      range.l_whence = SEEK_SET;
      range.l_start = offset;
      range.l_len = length;
      const bool got = own >= 0 && ::fcntl(own, F_SETLK, &range) == 0;
      EXPECT_TRUE(got);
      descriptor = own;
      if (::write(ready[1], "x", 1) != 1) ::abort();
      while (by_another) ::pause();
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void give_back() {
    if (child > 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
    child = 0;
  }

  const std::string path =
      (std::filesystem::temp_directory_path() / ("sheaf_bar." + std::to_string(::getpid()))).string();
  const std::shared_ptr<File> file = posix_store().open(path, Access::create);
  pid_t child = 0;
  int descriptor = -1;
};

TEST_F(ProgramLock, IsToldWithItsRange) {
  for (const bool by_another : {false, true}) {
    take(1000, 500, by_another);
    for (const bool exclusive : {false, true}) {
      const RangeLock told = file->lock(1200, 1000, exclusive, OnConflict::report);
      EXPECT_FALSE(told);
      EXPECT_EQ(told.from, 1000);
      EXPECT_EQ(told.to, 1500);
    }
    EXPECT_TRUE(file->lock(1500, 1000, true, OnConflict::report));
    EXPECT_TRUE(file->lock(0, 1000, true, OnConflict::report));
    give_back();
    EXPECT_TRUE(file->lock(1200, 1000, true, OnConflict::report));
    take(0, 0, by_another);  // the whole file, like lockf(fd, F_LOCK, 0) at its beginning
    const RangeLock told = file->lock(INT64_MAX - 10, 1, true, OnConflict::report);
    EXPECT_FALSE(told);
    EXPECT_EQ(told.from, 0);
    EXPECT_EQ(told.to, INT64_MAX);
    give_back();
  }
}

TEST_F(ProgramLock, IsWaitedForAWhileByWhoMustHaveTheRange) {
  take(0, 0, true);
  EXPECT_TRUE(waits([&] { EXPECT_TRUE(file->lock(10, 10, true)); }, [&] { give_back(); }));
}

TEST_F(ProgramLock, ThatIsNotGivenBackIsAnErrorThatNamesItsHolder) {
  take(0, 0, false);
  try {
    const RangeLock lock = file->lock(10, 10, true);
    FAIL() << "locked";
  } catch (const Error& error) {
    EXPECT_EQ(error.errno_value(), EAGAIN);
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  give_back();
  EXPECT_TRUE(file->lock(10, 10, true)) << "what failed has left nothing behind";
}

// A lock of this library, in any process, must not be reported as a program's lock. The caller must wait for
// it.
TEST_F(ProgramLock, IsToldFromThoseOfThisLibrary) {
  const auto other = posix_store().open(path, Access::write);
  RangeLock lock = other->lock(0, 100, true);
  EXPECT_TRUE(waits([&] { EXPECT_TRUE(file->lock(50, 10, false, OnConflict::report)); }, [&] { lock = {}; }));
}

TEST(FileRoom, IsAllocatedWithoutLosingWhatIsThere) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sheaf_room." + std::to_string(::getpid()))).string();
  MemoryStore memory;
  for (Store* store : {static_cast<Store*>(&memory), &posix_store()}) {
    const auto file = store->open(path, Access::create);
    const std::byte one{7};
    file->write_at({&one, 1}, 9999);
    set_room_aside(*file, 5000);
    EXPECT_EQ(file->status().size, 10000);
    set_room_aside(*file, 20000);
    EXPECT_EQ(file->status().size, 20000);
    std::byte found{};
    file->read_at({&found, 1}, 9999);
    EXPECT_EQ(found, one);
    store->remove(path);
  }
}

}  // namespace
}  // namespace sheaf::range_locks_test

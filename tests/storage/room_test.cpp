// Room set aside ahead of writes takes blocks of the disk and nothing else, and what is given back is free again.
#include <linux/magic.h>
#include <sys/vfs.h>

#include <filesystem>

#include "storage/faulty_store.hpp"
#include "storage/memory_store.hpp"
#include "storage/recording_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::room_test {
namespace {

constexpr int64_t MiB = 1 << 20;

bool on_ext4(const std::string& path) {
  struct statfs found;
  return ::statfs(path.c_str(), &found) == 0 && found.f_type == EXT4_SUPER_MAGIC;
}

TEST(Room, TakesBlocksAndLeavesSizeAndBytes) {
  const TemporaryDirectory directory;
  const auto file = posix_store().open(directory / "a", Access::fresh);
  const Bytes data = pattern(3 * MiB);
  file->write_at(data, 0);
  file->sync();
  const int64_t written = file->status().allocated;
  const bool aside = file->set_aside(3 * MiB, 16 * MiB);
  EXPECT_EQ(aside, on_ext4(directory.path()));
  EXPECT_EQ(file->status().size, 3 * MiB);
  if (!aside) {
    EXPECT_EQ(file->status().allocated, written);
    GTEST_SKIP() << "no room is set aside on the file system of the temporary directory";
  }
  EXPECT_GE(file->status().allocated, written + 16 * MiB);
  file->write_at(data, 3 * MiB);
  file->give_back(6 * MiB, 13 * MiB);
  file->sync();
  EXPECT_LE(file->status().allocated, 6 * MiB + MiB / 4);
  EXPECT_EQ(file->status().size, 19 * MiB);  // zeros, without which ext4 would keep the blocks
  Bytes found(6 * MiB);
  ASSERT_EQ(file->read_at(found, 0), found.size());
  EXPECT_TRUE(std::equal(data.begin(), data.end(), found.begin()));
  EXPECT_TRUE(std::equal(data.begin(), data.end(), found.begin() + 3 * MiB));
}

// The end of one task's chunk and the beginning of the next one's may lie in one block of the file system.
TEST(Room, IsGivenBackToTheByte) {
  const TemporaryDirectory directory;
  const auto file = posix_store().open(directory / "a", Access::fresh);
  if (!file->set_aside(0, MiB)) GTEST_SKIP() << "no room is set aside here";
  file->write_at(pattern(1000), 0);
  file->write_at(pattern(1000, 2), 100'001);
  file->give_back(1000, 99'001);
  Bytes found(101'001);
  EXPECT_EQ(file->read_at(found, 0), found.size());
  EXPECT_TRUE(std::ranges::equal(std::span(found).first(1000), pattern(1000)));
  EXPECT_TRUE(std::ranges::equal(std::span(found).last(1000), pattern(1000, 2)));
}

TEST(Room, IsUnknownToOtherStores) {
  MemoryStore memory;
  const auto file = memory.open("a", Access::fresh);
  file->write_at(bytes("abc"), 0);
  EXPECT_FALSE(file->set_aside(3, 16 * MiB));
  file->give_back(3, 16 * MiB);
  EXPECT_EQ(text(memory.contents("a")), "abc");
  EXPECT_EQ(file->border(), 64 << 10);
}

TEST(Room, DecoratorsPassOn) {
  const TemporaryDirectory directory;
  FaultyStore faulty(posix_store());
  RecordingStore recording(faulty);
  const auto file = recording.open(directory / "a", Access::fresh);
  const bool aside = file->set_aside(0, 16 * MiB);
  EXPECT_EQ(aside, on_ext4(directory.path()));
  EXPECT_EQ(file->status().allocated >= 16 * MiB, aside);
  file->give_back(0, 16 * MiB);
  EXPECT_LE(file->status().allocated, MiB / 4);
}

TEST(Border, IsThePageOnTmpfsAnd64KiBElsewhere) {
  const TemporaryDirectory directory;
  if (on_ext4(directory.path())) {
    EXPECT_EQ(posix_store().open(directory / "a", Access::fresh)->border(), 64 << 10);
  }
  struct statfs found;
  if (::statfs("/dev/shm", &found) != 0 || found.f_type != TMPFS_MAGIC) GTEST_SKIP() << "/dev/shm is no tmpfs";
  const std::string path = "/dev/shm/sheaf_border." + std::to_string(::getpid());
  const auto file = posix_store().open(path, Access::fresh);
  std::filesystem::remove(path);
  EXPECT_EQ(file->border(), 4096);
  EXPECT_FALSE(file->set_aside(0, MiB));
}

}  // namespace
}  // namespace sheaf::testing::room_test

// Bytes of a file where they lie in the page cache: the same as read_at() brings, or none at all.
#include "storage/mapped_read.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/memory_store.hpp"
#include "storage/posix_store.hpp"
#include "storage/shared_handles.hpp"

namespace sheaf::mapped_read_test {
namespace {

class MappedReadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("sheaf-lying-" + std::to_string(::getpid()));
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 11 + i / 253);
    posix_store().open(path_, Access::fresh)->write_at(bytes_, 0);
    file_ = posix_store().open(path_, Access::read);
    if (!file_->map(0, 1)) GTEST_SKIP() << "the temporary directory's file system is not read this way";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(300'000);
  std::shared_ptr<File> file_;
};

TEST_F(MappedReadTest, ShowsWhatWasWritten) {
  for (const auto& [offset, length] : {std::pair{0, 300'000}, {1, 5}, {4095, 2}, {8192, 4096}, {299'999, 1}, {77'777, 200'000}}) {
    const MappedRead found = file_->map(offset, static_cast<size_t>(length));
    ASSERT_TRUE(found) << offset;
    ASSERT_EQ(found.bytes().size(), static_cast<size_t>(length));
    EXPECT_TRUE(std::equal(found.bytes().begin(), found.bytes().end(), bytes_.begin() + offset)) << offset;
  }
}

TEST_F(MappedReadTest, IsEmptyBehindTheEnd) {
  EXPECT_FALSE(file_->map(0, 0));
  EXPECT_FALSE(file_->map(299'000, 200'000));
  EXPECT_FALSE(file_->map(299'000, 1'001)) << "still in the last page";
  EXPECT_FALSE(file_->map(1 << 20, 4096));
  file_.reset();
  std::filesystem::resize_file(path_, 8192);
  EXPECT_FALSE(posix_store().open(path_, Access::read)->map(4096, 16'384));
}

TEST_F(MappedReadTest, IsEmptyForBytesThatAreNotInMemory) {
  const int fd = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::fsync(fd), 0);
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  ::close(fd);
  if (const MappedRead found = file_->map(0, 200'000)) {  // tmpfs has nowhere else to put them
    EXPECT_TRUE(std::equal(found.bytes().begin(), found.bytes().end(), bytes_.begin()));
  }
  std::vector<std::byte> back(bytes_.size());
  ASSERT_EQ(file_->read_at(back, 0), back.size());
  EXPECT_EQ(back, bytes_);
  EXPECT_TRUE(file_->map(0, 200'000)) << "now they are";
}

TEST_F(MappedReadTest, GoesThroughSharedHandlesAndMovesItsHold) {
  SharedHandles store(posix_store());
  MappedRead first = store.open(path_, Access::read)->map(10, 20);
  const MappedRead second = std::move(first);
  EXPECT_FALSE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second.bytes()[0], bytes_[10]);
}

TEST(MappedRead, StoresInMemoryHaveNone) {
  MemoryStore store;
  const auto file = store.open("m", Access::fresh);
  file->write_at(std::vector<std::byte>(100), 0);
  EXPECT_FALSE(file->map(0, 100));
}

}  // namespace
}  // namespace sheaf::mapped_read_test

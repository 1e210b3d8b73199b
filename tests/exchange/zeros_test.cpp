// Large runs of zeros become room where the file holds no data, and are written like other bytes elsewhere.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "exchange/independent.hpp"
#include "storage/memory_store.hpp"
#include "storage/posix_store.hpp"

namespace sheaf::exchange::zeros_test {
namespace {

constexpr int64_t KiB = 1 << 10;

class Zeros : public ::testing::Test {
 protected:
  Zeros() : path_((std::filesystem::temp_directory_path() / ("sheaf-zeros-" + std::to_string(::getpid()))).string()) {
    file_ = posix_store().open(path_, sheaf::Access::fresh);
    struct statfs found;
    makes_room_ = ::statfs(path_.c_str(), &found) == 0 && found.f_type == EXT4_SUPER_MAGIC;
  }
  ~Zeros() override { std::filesystem::remove(path_); }

  void write(const std::vector<std::byte>& data, int64_t offset) { put(*file_, data, offset, tally_); }

  std::vector<std::byte> contents() {
    std::vector<std::byte> all(static_cast<size_t>(file_->status().size));
    EXPECT_EQ(file_->read_at(all, 0), all.size());
    return all;
  }

  std::string path_;
  std::shared_ptr<File> file_;
  bool makes_room_ = false;
  Tally tally_;
};

std::vector<std::byte> zeros(int64_t count) { return std::vector<std::byte>(static_cast<size_t>(count)); }

TEST_F(Zeros, InNewFilesAreRoom) {
  write(zeros(1280 * KiB), 5000);
  const FileStatus after = file_->status();
  const int64_t data = file_->next_data(0);  // of pages that were read there is more
  EXPECT_EQ(after.size, 5000 + 1280 * KiB);
  EXPECT_EQ(contents(), zeros(5000 + 1280 * KiB));
  EXPECT_EQ(tally_.file_bytes_written, 1280 * KiB);
  EXPECT_EQ(tally_.zero_bytes, makes_room_ ? 1280 * KiB : 0);
  if (!makes_room_) GTEST_SKIP() << "the file system of the temporary directory makes no room for zeros";
  EXPECT_EQ(data, after.size);
  EXPECT_GE(after.allocated, 1280 * KiB);  // a full disk says so now
}

TEST_F(Zeros, OverDataAreWritten) {
  write(std::vector<std::byte>(static_cast<size_t>(1024 * KiB), std::byte{7}), 0);
  write(zeros(512 * KiB), 256 * KiB);
  EXPECT_EQ(tally_.zero_bytes, 0);
  std::vector<std::byte> expected(static_cast<size_t>(1024 * KiB), std::byte{7});
  std::fill_n(expected.begin() + 256 * KiB, 512 * KiB, std::byte{});
  EXPECT_EQ(contents(), expected);
}

TEST_F(Zeros, FewAreWritten) {
  write(zeros(255 * KiB), 0);
  EXPECT_EQ(tally_.zero_bytes, 0);
  EXPECT_EQ(contents(), zeros(255 * KiB));
}

// Pieces that begin and end within blocks, beside and over each other, of zeros, of almost zeros, of other bytes.
TEST_F(Zeros, AnySequenceGivesTheBytesOfPlainWrites) {
  std::mt19937 random(20);
  const auto below = [&](int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random); };
  std::vector<std::byte> expected;
  for (int i = 0; i < 300; ++i) {
    if (i % 20 == 0) {
      file_->resize(0);
      expected.clear();
    }
    // Anywhere, or at the end or within its last block.
    const int64_t offset = below(4) == 0 ? below(4096 * KiB) : std::max<int64_t>(std::ssize(expected) - below(2) * below(4 * KiB), 0);
    auto data = zeros(200 * KiB + below(600 * KiB));
    const int64_t kind = below(4);
    if (kind == 0) std::ranges::fill(data, static_cast<std::byte>(1 + below(255)));
    if (kind == 1) data[static_cast<size_t>(below(std::ssize(data)))] = std::byte{1};
    if (below(3) == 0) file_->set_aside(offset, std::ssize(data));
    write(data, offset);
    expected.resize(std::max(expected.size(), static_cast<size_t>(offset) + data.size()));
    std::ranges::copy(data, expected.begin() + offset);
    ASSERT_EQ(contents(), expected) << "after write " << i << " of " << data.size() << " bytes at " << offset;
  }
  EXPECT_EQ(tally_.zero_bytes > 0, makes_room_);
}

TEST_F(Zeros, AreRefusedAsOtherBytesAre) {
  file_->close();
  file_ = posix_store().open(path_, sheaf::Access::read);
  EXPECT_FALSE(file_->write_zeros(0, 512 * KiB));
  EXPECT_THROW(write(zeros(512 * KiB), 0), Error);
  EXPECT_EQ(tally_.file_bytes_written, 0);
}

TEST(ZerosElsewhere, AreWritten) {
  MemoryStore store;
  const auto file = store.open("a", sheaf::Access::fresh);
  EXPECT_FALSE(file->write_zeros(0, 512 * KiB));
  Tally tally;
  put(*file, zeros(512 * KiB), 100, tally);
  EXPECT_EQ(tally.zero_bytes, 0);
  EXPECT_EQ(file->status().size, 512 * KiB + 100);
}

}  // namespace
}  // namespace sheaf::exchange::zeros_test

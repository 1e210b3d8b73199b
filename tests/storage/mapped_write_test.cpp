// Large writes to a shared file on tmpfs go through a mapping, and end as others where that cannot be.
#include "storage/file_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "storage/memory_store.hpp"
#include "storage/posix_store.hpp"
#include "storage/shared_handles.hpp"

namespace sheaf {
namespace {

std::vector<std::byte> pattern(size_t length, int seed) {
  std::vector<std::byte> bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<size_t>(seed));
  return bytes;
}

class MappedWriteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct statfs found;
    if (::statfs("/dev/shm", &found) != 0 || found.f_type != TMPFS_MAGIC || ::access("/dev/shm", W_OK) != 0)
      GTEST_SKIP() << "no tmpfs at /dev/shm";
    path_ = "/dev/shm/sheaf-mapped-" + std::to_string(::getpid());
    file_ = posix_store().open(path_, Access::create);
    file_->expect_company(nullptr);
  }
  void TearDown() override {
    if (file_) ::unlink(path_.c_str());
  }
  std::vector<std::byte> content() {
    std::vector<std::byte> bytes(static_cast<size_t>(file_->status().size));
    file_->read_at(bytes, 0);
    return bytes;
  }

  std::string path_;
  std::shared_ptr<File> file_;
};

TEST_F(MappedWriteTest, AnotherWriterPaysOnTmpfs) {
  EXPECT_EQ(file_->writers_at_once(), 2);
  SharedHandles handles(posix_store());
  EXPECT_EQ(handles.open(path_, Access::write)->writers_at_once(), 2);
  EXPECT_GT(posix_store().open("/proc/self/stat", Access::read)->writers_at_once(), 2) << "a file system that is not local";
  MemoryStore memory;
  EXPECT_GT(memory.open("a", Access::fresh)->writers_at_once(), 2);
}

TEST_F(MappedWriteTest, BytesLandWhereTheyShallAndNowhereElse) {
  const auto before = pattern(300'000, 1);
  file_->write_at(before, 0);
  const auto a = pattern(100'001, 2), b = pattern(77'777, 3);
  const std::vector<std::span<const std::byte>> parts{a, {}, b};
  ASSERT_TRUE(write_mapped(file_->descriptor(), parts, a.size() + b.size(), 200'003));
  auto expected = before;
  expected.resize(200'003);
  expected.insert(expected.end(), a.begin(), a.end());
  expected.insert(expected.end(), b.begin(), b.end());
  EXPECT_EQ(content(), expected);
  ASSERT_TRUE(write_mapped(file_->descriptor(), {parts.data(), 1}, a.size(), 4095));
  std::copy(a.begin(), a.end(), expected.begin() + 4095);
  EXPECT_EQ(content(), expected) << "a write inside moved the end of the file or other bytes";
}

TEST_F(MappedWriteTest, WritersAtOnceEachGrowTheFile) {
  std::vector<std::thread> writers;
  for (int w = 7; w >= 0; --w)
    writers.emplace_back([&, w] {
      const auto mine = posix_store().open(path_, Access::write);
      mine->expect_company(nullptr);
      for (int i = 0; i < 10; ++i) mine->write_at(pattern(99'999, w), (w * 10 + i) * 99'999);
    });
  for (auto& writer : writers) writer.join();
  const auto found = content();
  ASSERT_EQ(found.size(), 80u * 99'999);
  for (int w = 0; w < 8; ++w)
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(std::memcmp(found.data() + (w * 10 + i) * 99'999, pattern(99'999, w).data(), 99'999), 0) << w << ' ' << i;
}

TEST_F(MappedWriteTest, LimitsAreToldAsByWrite) {
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{1 << 20, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  int code = 0;
  try {
    file_->write_at(pattern(200'000, 5), (1 << 20) - 100'000);
  } catch (const Error& error) {
    code = error.errno_value();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, EFBIG);
}

TEST_F(MappedWriteTest, FileNotOpenForReadingIsLeftToWrite) {
  const int fd = ::open(path_.c_str(), O_WRONLY);
  const auto data = pattern(70'000, 6);
  const std::span<const std::byte> part(data);
  EXPECT_FALSE(write_mapped(fd, {&part, 1}, data.size(), 0));
  ::close(fd);
}

}  // namespace
}  // namespace sheaf

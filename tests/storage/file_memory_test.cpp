// Large writes to a shared file on tmpfs go through a mapping, and end as others where that cannot be; long runs of them to large
// pages, and nothing else does.
#include "storage/file_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
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
#include "support/tmpfs.hpp"

namespace sheaf::file_memory_test {
namespace {

std::vector<std::byte> pattern(size_t length, int seed) {
  std::vector<std::byte> bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<size_t>(seed));
  return bytes;
}

class FileMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_tmpfs()) GTEST_SKIP() << "no tmpfs at /dev/shm";
    path_ = "/dev/shm/sheaf-mapped-" + std::to_string(::getpid());
    file_ = posix_store().open(path_, Access::create);
    file_->expect_company(nullptr, Company::writing);
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

TEST_F(FileMemoryTest, AnotherWriterPaysOnTmpfs) {
  EXPECT_EQ(file_->writers_at_once(), 2);
  SharedHandles handles(posix_store());
  EXPECT_EQ(handles.open(path_, Access::write)->writers_at_once(), 2);
  EXPECT_GT(posix_store().open("/proc/self/stat", Access::read)->writers_at_once(), 2) << "a file system that is not local";
  MemoryStore memory;
  EXPECT_GT(memory.open("a", Access::fresh)->writers_at_once(), 2);
}

TEST_F(FileMemoryTest, BytesLandWhereTheyShallAndNowhereElse) {
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

TEST_F(FileMemoryTest, WritersAtOnceEachGrowTheFile) {
  std::vector<std::thread> writers;
  for (int w = 7; w >= 0; --w)
    writers.emplace_back([&, w] {
      const auto mine = posix_store().open(path_, Access::write);
      mine->expect_company(nullptr, Company::writing);
      for (int i = 0; i < 10; ++i) mine->write_at(pattern(99'999, w), (w * 10 + i) * 99'999);
    });
  for (auto& writer : writers) writer.join();
  const auto found = content();
  ASSERT_EQ(found.size(), 80u * 99'999);
  for (int w = 0; w < 8; ++w)
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(std::memcmp(found.data() + (w * 10 + i) * 99'999, pattern(99'999, w).data(), 99'999), 0) << w << ' ' << i;
}

TEST_F(FileMemoryTest, LimitsAreToldAsByWrite) {
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

TEST_F(FileMemoryTest, AFullFileSystemIsToldAsByWrite) {
  const test::SmallTmpfs small(path_ + ".small", "5m");
  if (!small) GTEST_SKIP() << "only root may mount";
  const auto file = posix_store().open(small.file(), Access::fresh);
  file->expect_company(nullptr, Company::writing);
  const auto data = pattern(3 << 20, 8);
  file->write_at(data, 0);
  const std::span<const std::byte> part(data);
  EXPECT_FALSE(write_mapped(file->descriptor(), {&part, 1}, data.size(), 3 << 20));
  try {
    file->write_at(data, 3 << 20);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::no_space);
  }
  std::vector<std::byte> back(data.size());
  EXPECT_EQ(file->read_at(back, 0), back.size());
  EXPECT_EQ(back, data);
}

TEST_F(FileMemoryTest, FileNotOpenForReadingIsLeftToWrite) {
  const int fd = ::open(path_.c_str(), O_WRONLY);
  const auto data = pattern(70'000, 6);
  const std::span<const std::byte> part(data);
  EXPECT_FALSE(write_mapped(fd, {&part, 1}, data.size(), 0));
  ::close(fd);
}

class LargePagesTest : public FileMemoryTest {
 protected:
  void SetUp() override {
    FileMemoryTest::SetUp();
    if (large_page() != 2 * MiB) GTEST_SKIP() << "no large pages, or of another size";
    // Not each kernel makes one where it is asked to.
    FileMemory memory(file_->descriptor(), 0, 1);
    if (!memory || !memory.reach(1) || !memory.make_large(0)) GTEST_SKIP() << "the kernel makes no large pages of files";
    file_->resize(0);
  }
  bool write(int64_t offset, int64_t length) {
    const bool lies_in_them = pages_.expect(file_->descriptor(), offset, length);
    file_->write_at(pattern(static_cast<size_t>(length), 1), offset);
    return lies_in_them;
  }
  int64_t allocated() { return file_->status().allocated; }

  static constexpr int64_t MiB = 1 << 20;
  LargePages pages_;
};

TEST_F(LargePagesTest, AreMadeForTheRestOfALongRun) {
  EXPECT_FALSE(write(100, MiB));
  EXPECT_EQ(allocated(), MiB + 4096);
  EXPECT_FALSE(write(100 + MiB, MiB)) << "begun in small pages";
  EXPECT_EQ(allocated(), 4 * MiB) << "the page that the run has reached";
  EXPECT_TRUE(write(100 + 2 * MiB, MiB));
  EXPECT_TRUE(write(100 + 3 * MiB, 8 * MiB));
  EXPECT_EQ(allocated(), 12 * MiB);
  EXPECT_EQ(file_->status().size, 100 + 11 * MiB) << "the file does not grow by them";
}

TEST_F(LargePagesTest, AreNotMadeForScatteredPiecesNorWhereSomethingIs) {
  for (int64_t at = 0; at < 100 * MiB; at += 10 * MiB) {
    EXPECT_FALSE(write(at, MiB));
    EXPECT_FALSE(write(at + MiB, 512 << 10));
  }
  EXPECT_EQ(allocated(), 15 * MiB);
  file_->write_at(pattern(1, 1), 205 * MiB);
  EXPECT_FALSE(write(204 * MiB, 2 * MiB));
  EXPECT_FALSE(write(206 * MiB - 1, 2 * MiB)) << "a run of its own, which does not begin with a page";
  const int64_t before = allocated();
  EXPECT_FALSE(write(301 * MiB, 3 * MiB));
  EXPECT_EQ(allocated() - before, 3 * MiB) << "the begin of the first page is not of the run";
}

TEST_F(LargePagesTest, TakeTheBytesOfThoseWhoExpectCompany) {
  std::vector<std::byte> all;
  for (int i = 0; i < 40; ++i) {
    const auto piece = pattern(300'000 + static_cast<size_t>(i), i);
    file_->write_at(piece, std::ssize(all));
    all.insert(all.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(content(), all);
  file_->resize(5 * MiB);
  all.resize(5 * static_cast<size_t>(MiB));
  EXPECT_EQ(content(), all);
  const auto piece = pattern(3 * static_cast<size_t>(MiB), 77);
  file_->write_at(piece, 5 * MiB);
  all.insert(all.end(), piece.begin(), piece.end());
  EXPECT_EQ(content(), all) << "cut off and written again, in a page that was there";
}

}  // namespace
}  // namespace sheaf::file_memory_test

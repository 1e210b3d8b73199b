// Large reads that go on and on through the program's memory: the bytes that read(2) brings, and as many of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/fiber_comm.hpp"
#include "sharedfile/shared_file.hpp"
#include "storage/posix_store.hpp"

namespace sheaf::walking_reads_test {
namespace {

constexpr int64_t MiB = 1 << 20;

class WalkingReads : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("sheaf-walk-" + std::to_string(::getpid()));
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 7 + i / 251);
    posix_store().open(path_, Access::fresh)->write_at(bytes_, 0);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Runs work(file, read), read(position, bytes, into) being collective or not.
  template <class Work>
  void with_file(Work work) {
    run_fibers({.ranks = 1}, [&](Comm& comm) {
      const auto file = SharedFile::open(comm.duplicate(), posix_store(), path_, {.read = true}, {});
      const View view;
      const auto read = [&](int64_t position, int64_t bytes, std::byte* into) {
        const Destination to{into, layout::TypeMap::bytes(1), bytes};
        return GetParam() ? file->read_at_all(file->lane(), view, position, to) : file->read_at(view, position, to);
      };
      work(*file, read);
      file->close();
    });
  }

  std::string path_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(static_cast<size_t>(10 * MiB + 12'345));
};

TEST_P(WalkingReads, BringWhatIsThereUpToTheEnd) {
  with_file([&](SharedFile&, auto read) {
    for (const int64_t step : {MiB, 3 * MiB / 2 + 17, 300'000L, 9 * MiB, 20 * MiB}) {
      std::vector<std::byte> back(bytes_.size() + static_cast<size_t>(2 * step), std::byte{0xee});
      int64_t at = 0;
      int64_t n = 0;
      do {
        n = read(at, step, back.data() + at);
        ASSERT_EQ(n, std::min(step, std::ssize(bytes_) - at)) << "at " << at << " in steps of " << step;
        at += n;
      } while (n == step);
      EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), back.begin())) << "steps of " << step;
      EXPECT_EQ(std::count(back.begin() + std::ssize(bytes_), back.end(), std::byte{0xee}), 2 * step);
    }
  });
}

TEST_P(WalkingReads, SeeThatTheFileHasBecomeShorter) {
  with_file([&](SharedFile&, auto read) {
    std::vector<std::byte> back(bytes_.size());
    ASSERT_EQ(read(0, MiB, back.data()), MiB);
    ASSERT_EQ(read(MiB, MiB, back.data() + MiB), MiB);
    std::filesystem::resize_file(path_, 2 * MiB + 100'000);
    EXPECT_EQ(read(2 * MiB, MiB, back.data() + 2 * MiB), 100'000);
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 2 * MiB + 100'000, bytes_.begin()));
  });
}

INSTANTIATE_TEST_SUITE_P(Both, WalkingReads, ::testing::Bool());

}  // namespace
}  // namespace sheaf::walking_reads_test

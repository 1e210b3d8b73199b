// Reading more files than the process may have open.
#include "storage/decorators/few_descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>

#include "storage/stdio_handle.hpp"
#include "storage/store.hpp"
#include "support/current_directory.hpp"
#include "testing.hpp"

namespace sheaf::testing::few_descriptors_test {
namespace {

constexpr int files = 300;
constexpr rlim_t granted = 64;

long open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

class FewDescriptors : public ::testing::Test {
 protected:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    grant(granted);
    for (int i = 0; i < files; ++i) std::ofstream(name(i)) << "file " << i;
  }
  ~FewDescriptors() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  void grant(rlim_t descriptors) const {
    const rlimit few{descriptors, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  std::string name(int i) const { return temporary / std::to_string(i); }
  std::vector<std::shared_ptr<File>> open_all() const {
    std::vector<std::shared_ptr<File>> all;
    for (int i = 0; i < files; ++i) all.push_back(open_one_of_many(posix_store(), name(i)));
    return all;
  }

  TemporaryDirectory temporary;

 private:
  rlimit before_{};
};

TEST_F(FewDescriptors, AllFilesCanBeReadWithHalfOfThem) {
  const long others = open_descriptors();
  const auto all = open_all();
  for (const int step : {1, 7, 299})
    for (int i = 0; i < files; ++i) {
      const int k = i * step % files;
      ASSERT_EQ(read_text(*all[static_cast<size_t>(k)], 0, 99), "file " + std::to_string(k));
    }
  EXPECT_LE(open_descriptors(), others + static_cast<long>(granted) / 2);
  all[17]->close();
  EXPECT_EQ(all[18]->status().size, 7);
  EXPECT_THROW(all[18]->write_at(bytes("x"), 0), Error);
}

TEST_F(FewDescriptors, ThreadsReadTheSameFilesAtOnce) {
  const auto all = open_all();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4 * files; ++i) {
        const int k = (i * (t + 1) + t) % files;
        ASSERT_EQ(read_text(*all[static_cast<size_t>(k)], 5, 99), std::to_string(k));
      }
    });
}

TEST_F(FewDescriptors, AProgramThatHasTheRestOfThemLeavesEnough) {
  const auto all = open_all();
  std::vector<std::shared_ptr<File>> own;
  EXPECT_THROW(for (;;) own.push_back(posix_store().open(name(0), Access::read)), Error);
  for (int i = 0; i < files; ++i)
    ASSERT_EQ(read_text(*all[static_cast<size_t>(i)], 5, 99), std::to_string(i));
  StdioHandle handle(*all[3], false, true);
  EXPECT_GE(handle.descriptor(), 0);
}

TEST_F(FewDescriptors, WhatHasANameOfAnotherFileByNowIsRefused) {
  const auto all = open_all();
  std::ofstream(temporary / "new") << "another one";
  std::filesystem::rename(temporary / "new", name(0));
  std::filesystem::remove(name(1));
  std::ofstream(name(2), std::ios::app) << ", which goes on";
  try {
    read_text(*all[0], 0, 9);
    ADD_FAILURE() << "another file was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.errno_value(), ESTALE);
    EXPECT_NE(std::string(e.what()).find(name(0)), std::string::npos) << e.what();
  }
  EXPECT_THROW(read_text(*all[1], 0, 9), Error);
  EXPECT_EQ(read_text(*all[2], 0, 99), "file 2, which goes on");
}

TEST_F(FewDescriptors, RelativeNamesCountFromWhereTheFileWasOpened) {
  grant(1024);
  test::TwoDirectories places{temporary.path()};
  std::ofstream(places.here / "a") << "own";
  const auto file = open_one_of_many(*posix_store_here(), "a");
  places.go_elsewhere();
  grant(granted);
  const auto others = open_all();
  EXPECT_EQ(read_text(*file, 0, 9), "own");
}

}  // namespace
}  // namespace sheaf::testing::few_descriptors_test

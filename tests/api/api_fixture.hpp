// api_fixture: base class of the tests of the C interface. It makes a scratch directory, disables error
// messages on stderr, and checks that no test leaks a descriptor.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "storage/testing.hpp"
#include "support/multifile_model.hpp"

namespace sheaf::test {

inline long open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

class Api : public ::testing::Test {
 protected:
  void SetUp() override {
    sheaf_print_errors(0);
    descriptors_ = open_descriptors();
  }
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_) << "descriptors leaked";
    sheaf_print_errors(1);
  }

  std::string path(std::string_view name) const { return directory_ / name; }

  // Calls sion_open for writing with the global ranks 100, 101, ... Returns the handle.
  static int create(const std::string& file, std::vector<long long> chunks, int fsblksize = 512,
                    FILE** fp = nullptr, const char* mode = "wb") {
    int ntasks = static_cast<int>(chunks.size());
    int nfiles = 1;
    std::vector<int> ranks(chunks.size() + 1);
    for (int t = 0; t < ntasks; ++t) ranks[static_cast<size_t>(t)] = 100 + t;
    chunks.push_back(0);
    long long* sizes = chunks.data();
    int* globalranks = ranks.data();
    return sion_open(const_cast<char*>(file.c_str()), mode, &ntasks, &nfiles, &sizes, &fsblksize,
                     &globalranks, fp);
  }
  static int open(const std::string& file, FILE** fp = nullptr, const char* mode = "rb") {
    return sion_open(const_cast<char*>(file.c_str()), mode, nullptr, nullptr, nullptr, nullptr, nullptr, fp);
  }
  static int open_rank(const std::string& file, int rank, FILE** fp = nullptr, const char* mode = "rb") {
    return sion_open_rank(const_cast<char*>(file.c_str()), mode, nullptr, nullptr, &rank, fp);
  }
  static bool last_error_has(std::string_view text) {
    return std::string_view(sheaf_last_error()).find(text) != std::string_view::npos;
  }

  // Writes the example of the interface's specification and returns its path. Task 0 has blocks of 100, 512,
  // 21 and 0 bytes, task 1 is empty, and task 2 has 7 bytes.
  std::string example() {
    const std::string file = path("example.sion");
    const int sid = create(file, {512, 512, 10});
    const auto put = [&](int task, int64_t from, int64_t bytes) {
      EXPECT_EQ(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
      EXPECT_EQ(sion_fwrite(content(task, from, bytes).data(), 1, static_cast<size_t>(bytes), sid),
                static_cast<size_t>(bytes));
    };
    put(0, 0, 100);
    put(2, 0, 7);
    put(0, 100, 512);
    put(0, 612, 21);
    EXPECT_EQ(sion_ensure_free_space(sid, 512), 1);
    EXPECT_EQ(sion_close(sid), 1);
    return file;
  }

 private:
  testing::TemporaryDirectory directory_;
  long descriptors_ = 0;
};

}  // namespace sheaf::test

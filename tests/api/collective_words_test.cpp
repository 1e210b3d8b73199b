// Tests the mode words and environment variables that request collective I/O through the C interface, and
// their effect on the layout of a file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "api/api_fixture.hpp"
#include "comm/on_threads.hpp"
#include "support/environment.hpp"
#include "support/moving_callbacks.hpp"

namespace sheaf::test::collective_words_test {
namespace {

constexpr int tasks = 6;
constexpr int64_t request = 200;  // bytes requested by each task, in blocks of 256 bytes
using Sizes = std::vector<long long>;

const Sizes alone{256, 256, 256, 256, 256, 256};
const Sizes one_group{200, 200, 200, 200, 200, 280};
const Sizes two_groups{200, 200, 368, 200, 200, 368};
const Sizes three_groups{200, 312, 200, 312, 200, 312};

class CollectiveWords : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    aid_ = pt_api();
    sion_generic_register_execute_and_scatter_cb(aid_, pt_execute_and_scatter);
    sion_generic_register_gather_and_execute_cb(aid_, pt_gather_and_execute);
    sion_generic_register_get_capability_cb(aid_, pt_capability);
  }
  void TearDown() override {
    EXPECT_EQ(sion_generic_free_api(aid_), 1);
    Api::TearDown();
  }

  // Opens the file on every task. Calls body(rank, sid) on each task whose open succeeded. Returns the number
  // of these tasks.
  int on_tasks(const std::string& mode, const std::function<void(int, int)>& body) {
    const auto group = std::make_shared<PthreadGroup>(tasks);
    std::atomic<int> opened = 0;
    on_threads(tasks, [&](int rank) {
      PthreadEnd end{group, rank};
      sion_int64 chunk = request;
      sion_int32 block = 256;
      int number = 0, files = 1, lrank = rank, lsize = tasks;
      const int sid = sion_generic_paropen(aid_, file().c_str(), mode.c_str(), &chunk, &block, &end, rank,
                                           tasks, &number, &files, &lrank, &lsize, nullptr, nullptr);
      if (sid < 0 && rank == 0) refusal = sheaf_last_error();
      if (sid < 0) return;
      ++opened;
      body(rank, sid);
      EXPECT_EQ(sion_generic_parclose(sid), 1);
    });
    return opened;
  }

  // Writes three pieces of 60 bytes per task in collective calls. Returns the file's chunk sizes, or nullopt
  // if the open failed on all tasks.
  std::optional<Sizes> write(const std::string& mode) {
    const int opened = on_tasks(mode, [](int rank, int sid) {
      for (int call = 0; call < 3; ++call)
        EXPECT_EQ(sion_coll_fwrite(content(rank, 60 * call, 60).data(), 1, 60, sid), 60u);
    });
    EXPECT_TRUE(opened == 0 || opened == tasks) << opened;
    return opened == tasks ? std::optional(chunks()) : std::nullopt;
  }

  Sizes chunks() {
    int ntasks = 0, nfiles = 0, block = 0;
    long long* sizes = nullptr;
    int* ranks = nullptr;
    std::string name = file();
    const int sid = sion_open(name.data(), "rb", &ntasks, &nfiles, &sizes, &block, &ranks, nullptr);
    EXPECT_GE(sid, 0);
    Sizes found(sizes, sizes + ntasks);
    std::free(sizes);
    std::free(ranks);
    EXPECT_EQ(sion_close(sid), 1);
    return found;
  }

  // Checks that every task reads back its data in collective calls.
  void check_reading() {
    const int opened = on_tasks("rb", [](int rank, int sid) {
      std::vector<std::byte> found(180);
      EXPECT_EQ(sion_coll_fread(found.data(), 1, 180, sid), 180u);
      EXPECT_EQ(found, content(rank, 0, 180));
    });
    EXPECT_EQ(opened, tasks);
  }

  std::string file() const { return path("a"); }
  std::string refusal;  // error message of a failed open on task 0

 private:
  int aid_ = -1;
};

TEST_F(CollectiveWords, CollectorsPerFileOfTheEnvironment) {
  EXPECT_EQ(write("wb"), alone);
  for (const auto& [collectors, expected] :
       {std::pair{"1", one_group}, {"2", two_groups}, {"3", three_groups}, {"0", alone}}) {
    const EnvironmentVariable number("SION_COLLNUM", collectors);
    EXPECT_EQ(write("wb"), expected) << collectors;
    check_reading();
  }
  const EnvironmentVariable number("SION_COLLNUM", "3");
  const EnvironmentVariable size("SION_COLLSIZE", "6");
  EXPECT_EQ(write("wb,collective,collsize=6"), three_groups) << "the number of collectors wins";
}

TEST_F(CollectiveWords, TasksPerCollectorOfTheEnvironment) {
  for (const auto& [size, expected] :
       {std::pair{"3", two_groups}, {"2", three_groups}, {"100", one_group}, {"0", alone}}) {
    const EnvironmentVariable number("SION_COLLSIZE", size);
    EXPECT_EQ(write("wb,collective,collsize=6"), expected) << size;
    check_reading();
  }
}

TEST_F(CollectiveWords, BothWordsForMerging) {
  for (const char* const word : {"collectivemerge", "cmerge"}) {
    EXPECT_EQ(write(std::string("wb,collective,collsize=3,") + word), (Sizes{768, 256, 256, 768, 256, 256}));
    const int sid = open(file());
    for (const int collector : {0, 3}) {
      std::vector<std::byte> expected;
      for (int call = 0; call < 3; ++call)
        for (int task = collector; task < collector + 3; ++task) {
          const auto piece = content(task, 60 * call, 60);
          expected.insert(expected.end(), piece.begin(), piece.end());
        }
      std::vector<std::byte> found(600);
      EXPECT_EQ(sion_seek(sid, collector, 0, 0), 1);
      found.resize(sion_fread(found.data(), 1, found.size(), sid));
      EXPECT_EQ(found, expected) << word;
    }
    EXPECT_EQ(sion_seek(sid, 1, 0, 0), 1);
    EXPECT_EQ(sion_feof(sid), 1) << "the others' streams are empty";
    EXPECT_EQ(sion_close(sid), 1);
    EXPECT_EQ(write(std::string("wb,") + word), alone) << "no effect without 'collective'";
    check_reading();
  }
}

TEST_F(CollectiveWords, WhatTheEnvironmentWantsToKnowIsPrinted) {
  const auto printed = [&](const char* level) {
    const EnvironmentVariable debug("SION_COLLDEBUG", level);
    const EnvironmentVariable collectors("SION_COLLNUM", "2");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(write("wb"), two_groups);
    check_reading();
    return ::testing::internal::GetCapturedStderr();
  };
  const auto lines = [](const std::string& text, const std::string& word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(printed("0"), "");
  const std::string first =
      "collective statistics: writing " + file() + ": 6 tasks, 2 collectors, 1536 bytes per round\n";
  const std::string second =
      "collective statistics: reading " + file() + ": 6 tasks, 2 collectors, 1536 bytes per round\n";
  EXPECT_EQ(printed("1"), first + second);
  const std::string details = printed("3");
  EXPECT_EQ(lines(details, "\n"), 6) << details;
  for (const std::string& line : {first, second}) EXPECT_EQ(lines(details, line), 1) << details;
  for (const char* const task : {"task 0 collects for 3 tasks\n", "task 3 collects for 3 tasks\n"})
    EXPECT_EQ(lines(details, task), 2) << details;
}

TEST_F(CollectiveWords, HostsThatMayCollect) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string here = host.data();
  const EnvironmentVariable collectors("SION_COLLNUM", "2");
  const auto with = [&](const char* variable, const std::string& expression) {
    const EnvironmentVariable hosts(variable, expression);
    return write("wb");
  };
  const char* const basic = "SION_MSA_COLLECTOR_HOSTNAME_REGEX";
  const char* const extended = "SION_MSA_COLLECTOR_HOSTNAME_EREGEX";
  EXPECT_EQ(with(basic, "^" + here + "$"), two_groups);
  EXPECT_EQ(with(basic, "elsewhere"), one_group) << "nobody but the first task begins a group";
  check_reading();
  EXPECT_EQ(with(extended, "^(one,other|" + here + ")$"), two_groups);
  EXPECT_EQ(with(basic, "^(one,other|" + here + ")$"), one_group) << "a basic expression has no |";
  EXPECT_EQ(with(extended, "^(one|other)$"), one_group);
  EXPECT_EQ(with(extended, "("), std::nullopt);
  EXPECT_TRUE(refusal.find("no regular expression") != std::string::npos) << refusal;
  const EnvironmentVariable other(basic, "elsewhere");
  EXPECT_EQ(with(extended, here), two_groups) << "the extended one wins";
}

}  // namespace
}  // namespace sheaf::test::collective_words_test

// Saving in the background through the C interface, with real files.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "api/api_fixture.hpp"
#include "sheaf_save.h"

namespace sheaf::test::async_test {
namespace {

class Async : public Api {
 protected:
  static constexpr size_t large = 5 << 20;

  // Writes a multifile of one task in the background. Returns the save.
  static sheaf_save* begin(const std::string& file, int number, size_t bytes = large,
                           const char* mode = "wb,async") {
    const int sid = create(file, {1 << 20}, 4096, nullptr, mode);
    EXPECT_GE(sid, 0) << sheaf_last_error();
    if (sid < 0) return nullptr;
    const auto data = content(number, 0, static_cast<int64_t>(bytes));
    EXPECT_EQ(sion_fwrite(data.data(), 1, bytes, sid), bytes);
    return sheaf_parclose_async(sid);
  }
  static bool holds(const std::string& file, int number, size_t bytes = large) {
    const int sid = open(file);
    if (sid < 0) return false;
    std::vector<std::byte> found(bytes + 1);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(sion_close(sid), 1);
    return found == content(number, 0, static_cast<int64_t>(bytes));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path("")))
      found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }
};

TEST_F(Async, ASaveBecomesDurable) {
  const std::string file = path("a");
  for (int number = 1; number <= 3; ++number) {
    sheaf_save* const save = begin(file, number);
    ASSERT_TRUE(save) << sheaf_last_error();
    EXPECT_GE(sheaf_save_test(save), SHEAF_SAVE_CAPTURED);
    EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_LOCAL), 1);
    EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
    EXPECT_EQ(sheaf_save_test(save), SHEAF_SAVE_DURABLE);
    EXPECT_STREQ(sheaf_save_error(save), "");
    long long bytes = 0, written = 0;
    EXPECT_EQ(sheaf_save_progress(save, &bytes, &written), SHEAF_SAVE_DURABLE);
    EXPECT_GE(bytes, static_cast<long long>(large));
    EXPECT_EQ(written, bytes);
    sheaf_save_free(save);
    EXPECT_TRUE(holds(file, number));
    EXPECT_EQ(names(), std::vector<std::string>{"a"});
  }
}

TEST_F(Async, AnOrdinaryCloseReturnsCaptured) {
  const std::string file = path("a");
  const int sid = create(file, {100}, 512, nullptr, "wb,async");
  EXPECT_EQ(sion_fwrite("text", 1, 4, sid), 4u);
  EXPECT_EQ(sion_close(sid), 1);
  sheaf_save* const save = sheaf_save_of(file.c_str());
  ASSERT_TRUE(save) << sheaf_last_error();
  EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
  sheaf_save_free(save);
  EXPECT_EQ(std::filesystem::file_size(file) > 0, true);
}

TEST_F(Async, StreamsAndTasksAreAsInOtherModes) {
  const std::string file = path("a");
  FILE* stream = nullptr;
  const int sid = create(file, {100, 1000}, 512, &stream, "wb,async");
  ASSERT_GE(sid, 0);
  ASSERT_TRUE(stream);
  std::fprintf(stream, "line %d\n", 1);
  EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_fwrite("second", 1, 6, sid), 6u);
  sheaf_save* const save = sheaf_parclose_async(sid);
  ASSERT_TRUE(save) << sheaf_last_error();
  EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
  sheaf_save_free(save);
  const int in = open(file);
  char text[20] = {};
  EXPECT_EQ(sion_fread(text, 1, 20, in), 7u);
  EXPECT_STREQ(text, "line 1\n");
  EXPECT_EQ(sion_close(in), 1);
}

TEST_F(Async, HandlesOfOtherModesStayOpen) {
  const int sid = create(path("a"), {100});
  EXPECT_FALSE(sheaf_parclose_async(sid));
  EXPECT_STREQ(sheaf_last_error_kind(nullptr, nullptr), "wrong_mode");
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_FALSE(sheaf_parclose_async(sid));
  EXPECT_EQ(sheaf_save_test(nullptr), SHEAF_SAVE_FAILED);
  EXPECT_EQ(sheaf_save_wait(nullptr, SHEAF_SAVE_DURABLE), 0);
  sheaf_save_free(nullptr);
}

TEST_F(Async, AbandonedSavesLeaveNothing) {
  const int sid = create(path("a"), {100}, 512, nullptr, "wb,async");
  EXPECT_EQ(sion_fwrite("text", 1, 4, sid), 4u);
  EXPECT_EQ(sheaf_abandon(sid), 1);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(Async, SavesByName) {
  EXPECT_FALSE(sheaf_save_of(path("none").c_str()));
  EXPECT_STREQ(sheaf_last_error_kind(nullptr, nullptr), "not_found");
  const int sid = create(path("plain"), {100});
  EXPECT_EQ(sion_close(sid), 1);
  sheaf_save* const save = sheaf_save_of(path("plain").c_str());
  EXPECT_EQ(sheaf_save_test(save), SHEAF_SAVE_DURABLE);
  sheaf_save_free(save);
}

TEST_F(Async, ReadersKnowTheirGeneration) {
  const std::string file = path("a");
  std::vector<std::string> generations;
  for (int number = 1; number <= 2; ++number) {
    sheaf_save* const save = begin(file, number, large, number == 1 ? "wb,async" : "wb,async,compress=lz4");
    char text[SHEAF_GENERATION_SIZE] = "", found[SHEAF_GENERATION_SIZE] = "",
         named[SHEAF_GENERATION_SIZE] = "";
    ASSERT_EQ(sheaf_save_generation(save, text), 1) << sheaf_last_error();
    EXPECT_EQ(std::string(text).size(), 32u);
    EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
    sheaf_save_free(save);
    const int sid = open(file);
    EXPECT_EQ(sheaf_generation(sid, found), 1) << sheaf_last_error();
    EXPECT_EQ(sion_close(sid), 1);
    EXPECT_STREQ(found, text);
    sheaf_save* const again = sheaf_save_of(file.c_str());
    EXPECT_EQ(sheaf_save_generation(again, named), 1);
    sheaf_save_free(again);
    EXPECT_STREQ(named, text);
    generations.emplace_back(text);
  }
  EXPECT_NE(generations[0], generations[1]);
  sheaf_print_errors(0);
  char text[SHEAF_GENERATION_SIZE] = "";
  EXPECT_EQ(sheaf_generation(12345, text), 0);
  const int sid = create(path("b"), {100}, 512, nullptr, "wb");
  EXPECT_EQ(sheaf_generation(sid, text), 0);
  EXPECT_STREQ(sheaf_last_error_kind(nullptr, nullptr), "wrong_mode");
  EXPECT_EQ(sion_close(sid), 1);
  sheaf_print_errors(1);
}

TEST_F(Async, LatestIsDurable) {
  char name[4096];
  EXPECT_EQ(sheaf_latest(path("step.*").c_str(), name, sizeof name), 0);
  for (int number = 1; number <= 3; ++number) {
    sheaf_save* const save = begin(path("step." + std::to_string(number)), number, 1000, "wb,async,keep=2");
    EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
    sheaf_save_free(save);
  }
  EXPECT_GT(sheaf_latest(path("step.*").c_str(), name, sizeof name), 0);
  EXPECT_EQ(name, path("step.3"));
  EXPECT_EQ(sheaf_latest(path("step.*").c_str(), name, 5), -1);
  EXPECT_EQ(names(), (std::vector<std::string>{"step.2", "step.3"}));
}

TEST_F(Async, ManySavesTakeNoMoreMemoryThreadsOrDescriptors) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const auto resident = [] {
    std::ifstream status("/proc/self/statm");
    long size = 0, pages = 0;
    status >> size >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  };
  long threads_after_two = 0, memory_after_two = 0, descriptors_after_two = 0;
  for (int number = 1; number <= 30; ++number) {
    sheaf_save* const save =
        begin(path("s" + std::to_string(number % 7)), number, large, "wb,async,async_memory=8M");
    ASSERT_TRUE(save) << sheaf_last_error();
    EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
    sheaf_save_free(save);
    if (number == 2) {
      threads_after_two = threads();
      memory_after_two = resident();
      descriptors_after_two = open_descriptors();
    }
  }
  EXPECT_EQ(threads(), threads_after_two);
  EXPECT_EQ(open_descriptors(), descriptors_after_two);
  // Captured memory grows up to async_memory, if the thread writes slowly.
  EXPECT_LT(resident(), memory_after_two + (10 << 20));
}

TEST_F(Async, WordsAreChecked) {
  for (const char* const words : {"async_memory=x", "pending=never", "keep=0", "async_exit=later"})
    EXPECT_EQ(create(path("a"), {100}, 512, nullptr, (std::string("wb,async,") + words).c_str()), -1)
        << words;
  EXPECT_EQ(create(path("a"), {100}, 512, nullptr, "wb,async,buddy"), -1);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

// Whether a forked child of this program can start threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool children_have_threads = false;
#else
constexpr bool children_have_threads = true;
#endif

TEST_F(Async, AForkedChildHasNoSaves) {
  if (!children_have_threads) GTEST_SKIP() << "ThreadSanitizer";
  sheaf_save* const save = begin(path("a"), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    sheaf_save* const own = begin(path("b"), 2);
    ::_exit(own && sheaf_save_wait(own, SHEAF_SAVE_DURABLE) == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sheaf_save_wait(save, SHEAF_SAVE_DURABLE), 1);
  sheaf_save_free(save);
  EXPECT_TRUE(holds(path("a"), 1));
  EXPECT_TRUE(holds(path("b"), 2));
}

// Programs that end with saves pending.
template <class Body>
int exit_status(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Async, ExitFinishesPendingSaves) {
  if (!children_have_threads) GTEST_SKIP() << "ThreadSanitizer";
  const std::string file = path("a");
  EXPECT_EQ(exit_status([&] { sheaf_save_free(begin(file, 7)); }), 0);
  EXPECT_TRUE(holds(file, 7));
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace sheaf::test::async_test

// Tests the debug log of a program, the debug log of the library, and messages with thread numbers.
#define SION_DEBUG
#include "sion_debug.h"

#include <unistd.h>

#include <thread>

#include "api/api_fixture.hpp"
#include "support/environment.hpp"

// This file is compiled with SION_DEBUG. The include of sion_common.h must not redefine its debug macros.
static_assert(sizeof(DPRINTF((1, "x"))) == sizeof(int));

namespace sheaf::test::debug_test {
namespace {

thread_local int number_of_this_thread = 0;
int thread_number() { return number_of_this_thread; }

int locks = 0;
void lock() { ++locks; }
void unlock() { --locks; }

class Debug : public Api {
 protected:
  void TearDown() override {
    _sion_debug_set_query_thread_num_function(nullptr);
    _sion_debug_set_lock_cb(nullptr, nullptr);
    sion_debug_off();
    Api::TearDown();
  }
  std::string log_name(const char* suffix = "") const {
    char number[32];
    std::snprintf(number, sizeof number, ".%05d", static_cast<int>(getpid()));
    return path("log") + number + suffix;
  }
  std::string log(const char* suffix = "") const {
    std::ifstream file(log_name(suffix));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool ends_with(const std::string& text, const std::string& end) { return text.ends_with(end); }
};

TEST_F(Debug, OffByDefault) {
  EXPECT_EQ(sion_isdebug(), 0);
  EXPECT_EQ(sion_dprintf(1023, "nothing"), 0);
  EXPECT_EQ(sion_get_dfile(), nullptr);
  EXPECT_EQ(_sion_debug_init(), 0);
  sion_dclose();
}

TEST_F(Debug, LinesThatTheMaskLetsThrough) {
  sion_debug_on(4, path("log").c_str());
  EXPECT_EQ(sion_isdebug(), 1);
  EXPECT_EQ(sion_dprintf(8, "no"), 0);
  EXPECT_EQ(sion_dprintf(12, "value %d\n", 7), 1);
  EXPECT_EQ(sion_dprintfp(4, "solve", 3, "%s", "step"), 1);
  EXPECT_EQ(sion_dprintf(4, nullptr), 0);
  EXPECT_NE(log().find(" value 7\n"), std::string::npos);
  EXPECT_TRUE(ends_with(log(), " [3] solve: step\n")) << log();
  EXPECT_EQ(log().find("no"), std::string::npos);
  ASSERT_NE(sion_get_dfile(), nullptr);
  std::fputs("by hand\n", sion_get_dfile());
  sion_dclose();
  EXPECT_TRUE(ends_with(log(), "by hand\n"));
  EXPECT_EQ(DPRINTF((4, "again")), 1);
  EXPECT_EQ(DPRINTFP((4, "f", -1, "more")), 1);
  ONLY_DEBUG(EXPECT_EQ(sion_dprintf(4, "last"), 1);)
  EXPECT_NE(log().find("by hand\n2"), std::string::npos) << "goes on behind what was there\n" << log();
  EXPECT_NE(log().find(" f: more\n"), std::string::npos);
  EXPECT_TRUE(ends_with(log(), " last\n"));
  sion_debug_off();
  EXPECT_EQ(sion_dprintf(4, "off"), 0);
}

TEST_F(Debug, TheEnvironmentSwitchesItOn) {
  const EnvironmentVariable base("SION_DEBUG", path("log"));
  {
    const EnvironmentVariable mask("SION_DEBUG_MASK", "2");
    const EnvironmentVariable rank("SION_DEBUG_RANK", "1");
    const EnvironmentVariable rank1("SION_DEBUG_RANK1", "5");
    const EnvironmentVariable rank2("SION_DEBUG_RANK2", "6");
    EXPECT_EQ(_sion_debug_init(), 1);
    EXPECT_EQ(sion_dprintf(1, "masked"), 0);
    for (const int task : {1, 5, 6, -1}) EXPECT_EQ(sion_dprintfp(2, nullptr, task, "task"), 1) << task;
    for (const int task : {0, 2, 7}) EXPECT_EQ(sion_dprintfp(2, nullptr, task, "task"), 0) << task;
  }
  EXPECT_EQ(_sion_debug_init(), 1);
  EXPECT_EQ(sion_dprintf(512, "all ten bits"), 1);
  EXPECT_EQ(sion_dprintf(1024, "not more"), 0);
}

TEST_F(Debug, TheLibraryTellsOfHandlesAndErrors) {
  const std::string file = example();
  {
    const EnvironmentVariable base("SION_DEBUG", path("log"));
    _sion_debug_init();
    EXPECT_EQ(sion_close(open(file)), 1);
    EXPECT_EQ(sion_close(-1), 0);
    EXPECT_NE(log().find(": opened '" + file + "' to read\n"), std::string::npos) << log();
    EXPECT_NE(log().find(": closing\n"), std::string::npos);
    EXPECT_NE(log().find("sion_close: invalid file identifier -1\n"), std::string::npos);
    const EnvironmentVariable silent("SION_DEBUG_SILENT", "1");
    _sion_debug_init();
    const std::string before = log();
    EXPECT_EQ(sion_close(-1), 0);
    EXPECT_EQ(log(), before) << "no lines of the library";
    EXPECT_EQ(sion_dprintf(1, "of the program"), 1);
  }
  sion_debug_off();
}

TEST_F(Debug, AFilePerThreadAndLocks) {
  EXPECT_EQ(_sion_debug_set_query_thread_num_function(thread_number), 1);
  _sion_debug_set_lock_cb(lock, unlock);
  sion_debug_on(1, path("log").c_str());
  sion_dprintf(1, "zero");
  std::thread([] {
    number_of_this_thread = 12;
    sion_dprintf(1, "twelve");
  }).join();
  EXPECT_EQ(locks, 0);
  EXPECT_TRUE(ends_with(log(".00"), " zero\n"));
  EXPECT_TRUE(ends_with(log(".12"), " twelve\n"));

  const EnvironmentVariable thread("SION_ERROR_MSG_THREAD", "12");
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  sion_close(-1);
  number_of_this_thread = 12;
  sion_close(-2);
  number_of_this_thread = 0;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "SION_ERROR_RETURN on rank -1, thread 12, rc=0: sion_close: invalid file identifier -2\n");
}

TEST_F(Debug, ALogThatCannotBeWrittenIsOff) {
  ::testing::internal::CaptureStderr();
  sion_debug_on(1, "/nonexistent/log");
  EXPECT_EQ(sion_dprintf(1, "x"), 0);
  EXPECT_EQ(sion_isdebug(), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("/nonexistent/log"), std::string::npos);
}

TEST_F(Debug, TimeStamps) {
  ::testing::internal::CaptureStderr();
  char text[] = "half way";
  EXPECT_EQ(sion_print_time_stamp(4, text), 1);
  EXPECT_EQ(sion_print_time_stamp(4, nullptr), 0);
  DPRINTFTS(5, "macro");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("SION_TIME_STAMP on rank 4: 2"), 0u) << said;
  EXPECT_NE(said.find(" half way\n"), std::string::npos);
  EXPECT_NE(said.find("rank 5: "), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::debug_test

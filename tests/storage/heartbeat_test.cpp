// Periodic calls and their behaviour in a forked child; identification of processes.
#include "base/os/heartbeat.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "base/os/process_identity.hpp"

namespace sheaf::heartbeat_test {
namespace {

using std::chrono::milliseconds;

// Waits until `holds` returns true, under any load. Returns false after 20 s.
template <class Holds>
bool comes(Holds holds) {
  for (int tries = 0; tries < 2000 && !holds(); ++tries) std::this_thread::sleep_for(milliseconds(10));
  return holds();
}

TEST(Heartbeat, CallsUntilItIsDestroyedAndNeverAfterwards) {
  std::atomic<int> quick = 0, slow = 0;
  auto one = Heartbeat::start(milliseconds(5), milliseconds(5), [&] { ++quick; });
  auto other = Heartbeat::start(std::chrono::hours(1), std::chrono::hours(1), [&] { ++slow; });
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(comes([&] { return quick >= 3; }));
  one.reset();
  const int calls = quick;
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(quick, calls);
  EXPECT_EQ(slow, 0);
}

TEST(Heartbeat, WaitsForACallThatIsAtWork) {
  std::atomic<bool> begun = false, ended = false;
  auto beat = Heartbeat::start(milliseconds(1), milliseconds(1), [&] {
    begun = true;
    std::this_thread::sleep_for(milliseconds(100));
    ended = true;
  });
  EXPECT_TRUE(comes([&] { return begun.load(); }));
  beat.reset();
  EXPECT_TRUE(ended);
}

TEST(Heartbeat, GoesOnBehindACallThatFails) {
  std::atomic<int> calls = 0;
  const auto beat = Heartbeat::start(milliseconds(1), milliseconds(1), [&] {
    ++calls;
    throw std::runtime_error("once more");
  });
  EXPECT_TRUE(comes([&] { return calls >= 3; }));
}

TEST(Heartbeat, AChildHasNoneOfItAndMayBeginItsOwn) {
  std::atomic<int> calls = 0;
  auto beat = Heartbeat::start(milliseconds(1), milliseconds(1), [&] { ++calls; });
  EXPECT_TRUE(comes([&] { return calls >= 1; }));
  const pid_t child = ::fork();
  if (child == 0) {
    const int before = calls;
    std::this_thread::sleep_for(milliseconds(50));
    const bool quiet = calls == before;
    std::atomic<int> own = 0;
    auto mine = Heartbeat::start(milliseconds(1), milliseconds(1), [&] { ++own; });
    const bool beats = mine && comes([&] { return own >= 2; });
    mine.reset();
    beat.reset();
    ::_exit(quiet && beats ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const int before = calls;
  EXPECT_TRUE(comes([&] { return calls > before; })) << "the parent goes on";
}

TEST(Heartbeat, DoesNotKeepAProcessFromEnding) {
  const pid_t child = ::fork();
  if (child == 0) {
    static std::atomic<bool> begun = false;
    const auto work = [] {
      begun = true;
      std::this_thread::sleep_for(std::chrono::hours(1));
    };
    static Heartbeat* volatile never_ended =
        Heartbeat::start(milliseconds(1), milliseconds(1), work).release();
    if (!never_ended || !comes([] { return begun.load(); })) ::_exit(1);
    std::exit(0);
  }
  int status = -1;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ProcessIdentity, TellsWhoRunsHere) {
  const ProcessIdentity me = this_process();
  ASSERT_FALSE(me.boot.empty());
  EXPECT_EQ(me.pid, ::getpid());
  EXPECT_EQ(runs_here(me), true);
  ProcessIdentity other = me;
  other.started += 1;
  EXPECT_EQ(runs_here(other), false) << "the number has been given again";
  other = me;
  other.boot = "elsewhere";
  EXPECT_EQ(runs_here(other), std::nullopt);
  other = me;
  other.started = 0;
  EXPECT_EQ(runs_here(other), std::nullopt);
}

TEST(ProcessIdentity, AProcessThatHasEndedRunsNoMore) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const uint64_t started = this_process().started;
    static_cast<void>(::write(pipes[1], &started, sizeof started));
    for (;;) ::pause();
  }
  ProcessIdentity identity = this_process();
  identity.pid = child;
  ASSERT_EQ(::read(pipes[0], &identity.started, sizeof identity.started),
            static_cast<ssize_t>(sizeof identity.started));
  EXPECT_EQ(runs_here(identity), true);
  ::kill(child, SIGKILL);
  EXPECT_TRUE(comes([&] { return runs_here(identity) == false; }))
      << "though nobody has asked for its exit code";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(runs_here(identity), false);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

}  // namespace
}  // namespace sheaf::heartbeat_test

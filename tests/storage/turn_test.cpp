// Large writes of several processes to one local file go one at a time.
#include "storage/turn.hpp"

#include <sys/vfs.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/posix_store.hpp"

namespace sheaf::turn_test {
namespace {

class TurnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("sheaf-turn-" + std::to_string(::getpid()));
    file_ = posix_store().open(path_, Access::create);
    struct statfs found;
    ASSERT_EQ(fstatfs(file_->descriptor(), &found), 0);
    if (!takes_turns(kind_of_magic(static_cast<int64_t>(found.f_type)))) GTEST_SKIP() << "the temporary directory is not on a local file system";
    tmpfs_ = found.f_type == TMPFS_MAGIC;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Whether another process would get the turn at once.
  bool is_free() const {
    const int fd = ::open(path_.c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = INT64_MAX - 1;
    lock.l_len = 1;
    const bool got = ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
    ::close(fd);
    return got;
  }

  // Writes in a child; true if it is done within the given time while this process holds the turn.
  bool child_writes(size_t bytes, bool in_company) {
    const Turn mine(file_->descriptor(), threads_, nullptr, Turn::Wait::yes);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto file = posix_store().open(path_, Access::write);
      if (in_company) file->expect_company(nullptr, Company::writing);
      file->write_at(std::vector<std::byte>(bytes), 0);
      ::_exit(0);
    }
    bool done = false;
    for (int i = 0; i < 300 && !done; ++i) {
      done = ::waitpid(child, nullptr, WNOHANG) == child;
      if (!done) ::usleep(1000);
    }
    if (!done) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    return done;
  }

  std::string path_;
  std::shared_ptr<File> file_;
  std::mutex threads_;
  bool tmpfs_ = false;
};

TEST_F(TurnTest, IsHeldWhileItLives) {
  EXPECT_TRUE(is_free());
  {
    const Turn turn(file_->descriptor(), threads_, nullptr, Turn::Wait::yes);
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

TEST_F(TurnTest, LargeWritesInCompanyWaitForIt) {
  if (tmpfs_) GTEST_SKIP() << "the temporary directory is on tmpfs, where writes go beside each other";
  EXPECT_FALSE(child_writes(1 << 20, true));
  EXPECT_TRUE(is_free());
}

TEST_F(TurnTest, SmallWritesAndLonelyWritersDoNot) {
  EXPECT_TRUE(child_writes(4096, true));
  EXPECT_TRUE(child_writes(1 << 20, false));
}

// The kernel's lock belongs to the open file: it lets all threads in, and the first to leave would end it for the rest.
TEST_F(TurnTest, ThreadsWithOneFileTakeTurnsAsWell) {
  std::atomic<int> in = 0;
  std::atomic<bool> alone = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const Turn turn(file_->descriptor(), threads_, nullptr, Turn::Wait::yes);
        if (++in != 1 || (i % 50 == 0 && is_free())) alone = false;
        std::this_thread::yield();
        --in;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(alone);
}

// lockf(fd, F_LOCK, 0) and the like reach the byte of the turn too. Nobody knows until when: nobody waits.
TEST_F(TurnTest, WhereTheProgramHasLockedTheFileThereAreNoTurns) {
  for (const int command : {F_SETLK, F_OFD_SETLK}) {
    const int fd = ::open(path_.c_str(), O_RDWR);
    struct flock all{};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    ASSERT_EQ(::fcntl(fd, command, &all), 0);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(Turn(file_->descriptor(), threads_, nullptr, Turn::Wait::yes).mine());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << "each would have waited a second";
    ::close(fd);
    EXPECT_TRUE(Turn(file_->descriptor(), threads_, nullptr, Turn::Wait::yes).mine());
  }
}

TEST_F(TurnTest, OfATaskThatDoesNotGiveItBackIsPassed) {
  const auto other = posix_store().open(path_, Access::write);
  std::mutex of_another;
  const Turn turn(other->descriptor(), of_another, nullptr, Turn::Wait::yes);
  ASSERT_TRUE(turn.mine());
  EXPECT_FALSE(Turn(file_->descriptor(), threads_, nullptr, Turn::Wait::yes).mine());
}

TEST_F(TurnTest, EndsWithTheProcessThatHeldIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = posix_store().open(path_, Access::write);
    const Turn turn(file->descriptor(), threads_, nullptr, Turn::Wait::yes);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_free());
}

// Tasks that share memory: each through a File of its own, so that only the words keep them apart. On a loaded machine it may take
// so long that some go ahead without the turn.
TEST(SharedTurn, OneAtATime) {
  SharedWord words[2]{};
  int64_t inside = 0;  // not atomic: a race is what the turn must exclude
  std::atomic<int64_t> ahead = 0;
  std::vector<std::thread> tasks;
  for (int t = 0; t < 4; ++t)
    tasks.emplace_back([&] {
      std::mutex own;
      for (int n = 0; n < 500; ++n) {
        const Turn turn(-1, own, words, Turn::Wait::yes);
        if (!turn.mine()) {
          ++ahead;
          continue;
        }
        const int64_t before = inside;
        std::this_thread::yield();
        inside = before + 1;
      }
    });
  for (auto& task : tasks) task.join();
  EXPECT_EQ(inside + ahead, 2000);
  EXPECT_LT(ahead, 1000);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0u);
}

TEST(SharedTurn, WhoWaitsAwakeGetsItOrGoesAhead) {
  SharedWord words[2]{};
  std::mutex own;
  {
    const Turn turn(-1, own, words, Turn::Wait::awake);
    EXPECT_TRUE(turn.mine());
    std::mutex of_another;
    EXPECT_FALSE(Turn(-1, of_another, words, Turn::Wait::awake).mine());
    EXPECT_EQ(words[0], 1u);
  }
  EXPECT_EQ(words[0], 0u);
  // What becomes free while it waits, it gets: not in each round, as it does not wait long. It cannot go ahead as the next one.
  words[1] = 1;
  bool got = false;
  for (int round = 0; round < 20 && !got; ++round) {
    words[0] = 1;
    std::thread other([&] { words[0] = 0; });
    const Turn turn(-1, own, words, Turn::Wait::awake);
    got = turn.mine();
    other.join();
    words[0] = 0;
  }
  EXPECT_TRUE(got);
}

TEST(SharedTurn, OneOfThoseWhoWaitAwakeIsTheNextOne) {
  SharedWord words[2]{};
  words[0] = 1;
  std::mutex own, of_another;
  {
    const Turn next(-1, own, words, Turn::Wait::awake);
    EXPECT_FALSE(next.mine());
    EXPECT_EQ(words[1], 1u);
    { const Turn third(-1, of_another, words, Turn::Wait::awake); }
    EXPECT_EQ(words[1], 1u) << "the place is not the third one's";
  }
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ(words[0], 1u);
}

TEST(SharedTurn, ATaskThatDiedWithTheTurnIsPassed) {
  SharedWord words[2]{};
  words[0] = 1;
  std::mutex own;
  { const Turn turn(-1, own, words, Turn::Wait::yes); }
  EXPECT_EQ(words[0], 1u);  // not ours to give back
  EXPECT_EQ(words[1], 0u);
}

}  // namespace
}  // namespace sheaf::turn_test

// Collective writes into a file of tmpfs go straight to its memory, in large pages where the kernel makes them, and leave the
// bytes that requests leave. What fails there fails on all tasks.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "comm/fiber_comm.hpp"
#include "exchange/collective.hpp"
#include "storage/forwarding_file.hpp"
#include "storage/posix_store.hpp"
#include "support/tmpfs.hpp"

namespace sheaf::exchange::in_place_test {
namespace {

using layout::TypeMap;

constexpr int64_t MiB = 1 << 20;
constexpr int64_t far_more = std::numeric_limits<int64_t>::max();

std::byte value_at(int64_t offset) { return static_cast<std::byte>((offset * 2654435761) >> 13); }

// A file of tmpfs whose memory can be denied, or said to be nearly full, and that counts requests.
struct Ways {
  bool denied = false;
  int64_t left = far_more;
  int64_t fails_at = -1;  // a request that writes this byte fails
  int requests = 0;
};

class WatchedFile final : public ForwardingFile {
 public:
  WatchedFile(std::shared_ptr<File> file, Ways& ways) : ForwardingFile(std::move(file)), ways_(ways) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    ++ways_.requests;
    if (ways_.fails_at >= offset && ways_.fails_at < offset + std::ssize(data)) throw Error(Code::io, "no, says the test");
    inner().write_at(data, offset);
  }
  int64_t memory_page() override { return inner().memory_page(); }
  int64_t room_left() override { return ways_.left; }
  std::unique_ptr<FileMemory> memory(int64_t low, int64_t high) override { return ways_.denied ? nullptr : inner().memory(low, high); }

 private:
  Ways& ways_;
};

// Tasks of a node that share a file; each has opened it.
class InPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_tmpfs()) GTEST_SKIP() << "no tmpfs at /dev/shm";
    path_ = "/dev/shm/sheaf-in-place-" + std::to_string(::getpid());
    const auto file = posix_store().open(path_, sheaf::Access::create);
    file->expect_company(nullptr, Company::writing);
    FileMemory memory(file->descriptor(), 0, 1);
    if (!memory || !memory.reach(1) || !memory.make_large(0)) GTEST_SKIP() << "the kernel makes no large pages of files";
    file->resize(0);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Runs body(write, tally, comm) on every task. write(low, high, record, gap): that range of the file in records, with gaps
  // behind them, dealt out to the tasks in turn; record 0: as many bytes to each. Call n of write() begins with task n; the bytes are
  // those of `salt` further on.
  template <class Body>
  void on_tasks(int tasks, Body body, uint64_t seed = 1) {
    run_fibers({.ranks = tasks, .stack_bytes = 512 << 10, .seed = seed, .ranks_per_node = tasks}, [&](Comm& comm) {
      const auto real = posix_store().open(path_, sheaf::Access::write);
      real->expect_company(nullptr, Company::writing);
      WatchedFile file(real, ways_);
      Collective transfers(comm);
      Tally tally;
      int calls = 0;
      const auto write = [&](int64_t low, int64_t high, int64_t record, int64_t gap = 0, int64_t salt = 0) {
        const int place = (comm.rank() + calls++) % comm.size();
        const int64_t each = record > 0 ? record : (high - low + comm.size() - 1) / comm.size();
        std::vector<int64_t> lengths, offsets;
        std::vector<std::byte> data;
        for (int64_t at = low + (each + gap) * place; at < high; at += (each + gap) * comm.size()) {
          offsets.push_back(at);
          lengths.push_back(std::min(each, high - at));
          for (int64_t i = at; i < at + lengths.back(); ++i) data.push_back(value_at(i + salt));
        }
        const TypeMap type = TypeMap::indexed(lengths, offsets, TypeMap::bytes(1));
        const Access access{0, &type, 0, std::ssize(data), data.data(), &contiguous_bytes()};
        transfers.write(file, std::ssize(data) > 0 ? access : Access{}, {}, std::nullopt, tally);
      };
      body(write, tally, comm);
      transfers.settle();
      comm.barrier();
    });
  }

  void expect_bytes(int64_t low, int64_t high) {
    const auto file = posix_store().open(path_, sheaf::Access::read);
    std::vector<std::byte> bytes(static_cast<size_t>(high - low));
    ASSERT_EQ(file->read_at(bytes, low), bytes.size());
    for (int64_t i = low; i < high; ++i) ASSERT_EQ(bytes[static_cast<size_t>(i - low)], value_at(i)) << "at " << i;
  }
  int64_t size() { return std::filesystem::file_size(path_); }

  std::string path_;
  Ways ways_;
};

TEST_F(InPlaceTest, LeavesTheBytesThatRequestsLeave) {
  const int64_t ends[] = {0, 5 * MiB + 1, 5 * MiB + 3, 9 * MiB, 23 * MiB + 777, 24 * MiB, 31 * MiB};
  for (const int tasks : {2, 5, 16})
    for (const int64_t record : {0, 4096, 1000, 70'000}) {
      std::filesystem::resize_file(path_, 0);
      on_tasks(tasks, [&](auto write, Tally& tally, Comm&) {
        for (size_t i = 1; i < std::size(ends); ++i) write(ends[i - 1], ends[i], record);
        EXPECT_GE(tally.place_calls, record == 0 ? 4 : 2) << tasks << " tasks, records of " << record;
      });
      EXPECT_EQ(size(), 31 * MiB);
      expect_bytes(0, 31 * MiB);
    }
  EXPECT_LT(ways_.requests, 500) << "of small ranges only";
}

TEST_F(InPlaceTest, ChangesNothingBesideItsRange) {
  std::mt19937 random(7);
  on_tasks(3, [&](auto write, Tally&, Comm&) { write(0, 40 * MiB, 0); });
  for (int i = 0; i < 30; ++i) {
    const int64_t low = static_cast<int64_t>(random() % (30 * MiB));
    const int64_t high = low + 1 + static_cast<int64_t>(random() % (12 * MiB));
    const int64_t record = 1 + static_cast<int64_t>(random() % 50'000);
    std::vector<std::byte> nothing(static_cast<size_t>(high - low), std::byte{0});
    posix_store().open(path_, sheaf::Access::write)->write_at(nothing, low);
    on_tasks(3, [&](auto write, Tally&, Comm&) { write(low, high, record); });
    expect_bytes(0, std::max<int64_t>(high, 40 * MiB));
  }
}

TEST_F(InPlaceTest, MakesLargePagesAndFewBehindTheEnd) {
  if (large_page() != 2 * MiB) GTEST_SKIP() << "large pages of another size";
  const auto grow = [&](int64_t from, int64_t to) {
    on_tasks(4, [&](auto write, Tally&, Comm&) {
      for (int64_t at = from; at < to; at += MiB) write(at, at + MiB, 0);
    });
    expect_bytes(0, to);
    EXPECT_EQ(size(), to);
    struct stat found;
    ::stat(path_.c_str(), &found);
    return found.st_blocks * 512;
  };
  EXPECT_EQ(grow(0, 3 * MiB), 3 * MiB);
  EXPECT_EQ(grow(3 * MiB, 9 * MiB), 10 * MiB) << "the last large page, of which the file has a half";
}

// A header before the range is no reason to fill it with small pages; much that nobody has written is.
TEST_F(InPlaceTest, MakesALargePageOfWhichLittleLiesBefore) {
  if (large_page() != 2 * MiB) GTEST_SKIP() << "large pages of another size";
  for (const int64_t from : {MiB / 8, MiB / 2}) {
    std::filesystem::resize_file(path_, 0);
    on_tasks(4, [&](auto write, Tally&, Comm&) { write(from, 4 * MiB, 0); });
    expect_bytes(from, 4 * MiB);
    struct stat found;
    ::stat(path_.c_str(), &found);
    EXPECT_EQ(found.st_blocks * 512, from < MiB / 4 ? 4 * MiB : 4 * MiB - from) << "from " << from;
  }
}

TEST_F(InPlaceTest, GoesByRequestsWhereTheMemoryIsDenied) {
  ways_.denied = true;
  for (const int64_t left : {far_more, int64_t{0}}) {
    ways_.left = left;
    std::filesystem::resize_file(path_, 0);
    on_tasks(4, [&](auto write, Tally&, Comm&) { write(100, 12 * MiB, 40'000); });
    expect_bytes(100, 12 * MiB);
  }
  EXPECT_GT(ways_.requests, 600);
}

TEST_F(InPlaceTest, EndsWhereTheKernelMakesNoLargePages) {
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  on_tasks(3, [&](auto write, Tally& tally, Comm&) {
    for (int64_t at = 0; at < 300 * MiB; at += 10 * MiB) write(at, at + 10 * MiB, 20'000);
    EXPECT_GT(tally.place_calls, 0);
    EXPECT_GT(tally.exchange_calls, 10);
    EXPECT_EQ(tally.place_calls + tally.exchange_calls, 30);
  });
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  expect_bytes(0, 300 * MiB);
}

TEST_F(InPlaceTest, GapsStayHoles) {
  on_tasks(3, [&](auto write, Tally& tally, Comm&) {
    for (int i = 0; i < 40; ++i) write(i * 30 * MiB, (i + 1) * 30 * MiB, MiB, 9 * MiB);
    EXPECT_EQ(tally.place_calls, 0);
  });
  struct stat found;
  ::stat(path_.c_str(), &found);
  EXPECT_EQ(found.st_blocks * 512, 120 * MiB);
  for (int i = 0; i < 120; ++i) expect_bytes(i * 10 * MiB, i * 10 * MiB + MiB);
}

// With little room left a failure on one task is thrown by all at once; with plenty, by the one that had it, and by all in the
// next transfer, which moves nothing.
TEST_F(InPlaceTest, FailuresReachAllTasks) {
  ways_.denied = true;
  ways_.fails_at = 5 * MiB;  // of task 1
  for (const bool plenty : {false, true}) {
    ways_.left = plenty ? far_more : 0;
    std::filesystem::resize_file(path_, 0);
    int failed = 0, failed_next = 0, worked_then = 0;
    on_tasks(3, [&](auto write, Tally&, Comm& comm) {
      const auto problem = attempt([&] { write(0, 12 * MiB, 0); });
      failed += problem.has_value();
      if (problem) {
        EXPECT_NE(std::string(problem->what()).find("says the test"), std::string::npos);
        EXPECT_TRUE(!plenty || comm.rank() == 1);
      }
      comm.barrier();
      failed_next += attempt([&] { write(12 * MiB, 24 * MiB, 0); }).has_value();
      worked_then += !attempt([&] { write(24 * MiB, 36 * MiB, 0); }).has_value();
    });
    EXPECT_EQ(failed, plenty ? 1 : 3);
    EXPECT_EQ(failed_next, plenty ? 3 : 0);
    EXPECT_EQ(worked_then, 3);
    expect_bytes(24 * MiB, 36 * MiB);
    expect_bytes(plenty ? 24 * MiB : 12 * MiB, 36 * MiB);
  }
}

// Who fills a range with large pieces goes on without the others for a while: pages are large all the same.
TEST_F(InPlaceTest, LargePiecesNeedNotWait) {
  if (large_page() != 2 * MiB) GTEST_SKIP() << "large pages of another size";
  constexpr int64_t call = 10 * MiB + 4000;
  on_tasks(4, [&](auto write, Tally& tally, Comm&) {
    for (int64_t n = 0; n < 20; ++n) write(n * call, (n + 1) * call, 0);
    EXPECT_EQ(tally.place_calls, 20);
    EXPECT_EQ(tally.ahead_calls, 18) << "all but the first, and the one in which they ask each other again";
  });
  EXPECT_EQ(ways_.requests, 0);
  EXPECT_EQ(size(), 20 * call);
  expect_bytes(0, 20 * call);
  struct stat found;
  ::stat(path_.c_str(), &found);
  EXPECT_EQ(found.st_blocks * 512, 202 * MiB) << "whole pages";
}

TEST_F(InPlaceTest, TheLastOfTwoTransfersOfABytePrevails) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::filesystem::resize_file(path_, 0);
    on_tasks(
        3,
        [&](auto write, Tally& tally, Comm&) {
          for (int64_t n = 5; n >= 0; --n) {
            write(0, 7 * MiB, n % 2 == 0 ? 0 : 40'000, 0, n);
          }
          EXPECT_EQ(tally.place_calls, 6);
        },
        seed);
    expect_bytes(0, 7 * MiB);
  }
}

// Where they are not followed by others after all, no more than the pages that they touch are made, and soon no more of those.
TEST_F(InPlaceTest, GapsAreHolesAgainSoon) {
  constexpr int calls = 60;
  on_tasks(3, [&](auto write, Tally& tally, Comm&) {
    write(0, 30 * MiB, 0);
    for (int i = 1; i < calls; ++i) write(i * 30 * MiB, (i + 1) * 30 * MiB, MiB, 9 * MiB);
    EXPECT_LE(tally.place_calls, 17);
  });
  struct stat found;
  ::stat(path_.c_str(), &found);
  EXPECT_LE(found.st_blocks * 512, (30 + 16 * 3 * 4 + (calls - 17) * 3) * MiB);
  for (int i = 3; i < 3 * calls; ++i) expect_bytes(i * 10 * MiB, i * 10 * MiB + MiB);
}

TEST_F(InPlaceTest, AFailureOfOneThatDidNotWaitIsToldInTheNextCall) {
  ways_.denied = true;
  ways_.fails_at = 17 * MiB;
  int failed = 0, failed_next = 0, worked_then = 0;
  on_tasks(3, [&](auto write, Tally& tally, Comm&) {
    write(0, 12 * MiB, 0);
    failed += attempt([&] { write(12 * MiB, 24 * MiB, 0); }).has_value();
    EXPECT_EQ(tally.place_calls, 2);
    failed_next += attempt([&] { write(24 * MiB, 36 * MiB, 0); }).has_value();
    worked_then += !attempt([&] { write(36 * MiB, 48 * MiB, 0); }).has_value();
  });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(failed_next, 3);
  EXPECT_EQ(worked_then, 3);
  EXPECT_EQ(size(), 48 * MiB);
  expect_bytes(36 * MiB, 48 * MiB);
  const auto file = posix_store().open(path_, sheaf::Access::read);
  EXPECT_EQ(file->next_data(24 * MiB), 36 * MiB) << "the call in which all failed has moved nothing";
}

TEST_F(InPlaceTest, ALimitOfTheProcessFailsOnAllTasks) {
  ways_.left = 0;
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 6 * MiB;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(posix_store().open(path_, sheaf::Access::write)->room_left(), 0);
  int failed = 0;
  on_tasks(3, [&](auto write, Tally&, Comm&) { failed += attempt([&] { write(0, 12 * MiB, 4096); }).has_value(); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(failed, 3);
}

TEST_F(InPlaceTest, AFullFileSystemFailsOnAllTasks) {
  const test::SmallTmpfs small(path_ + ".small", "12m");
  if (!small) GTEST_SKIP() << "only root may mount";
  const std::string kept = std::exchange(path_, small.file());
  posix_store().open(path_, sheaf::Access::fresh);
  ways_.left = posix_store().open(path_, sheaf::Access::write)->room_left();
  EXPECT_EQ(ways_.left, 12 * MiB);
  int failed = 0;
  on_tasks(3, [&](auto write, Tally&, Comm&) {
    write(0, 7 * MiB, 4096);
    const auto problem = attempt([&] { write(7 * MiB, 21 * MiB, 4096); });
    failed += problem && problem->code() == Code::no_space;
  });
  EXPECT_EQ(failed, 3);
  expect_bytes(0, 7 * MiB);
  path_ = kept;
}

}  // namespace
}  // namespace sheaf::exchange::in_place_test

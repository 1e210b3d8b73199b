// When an allocation fails, the call reports the error and the program can continue.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include "api/api_fixture.hpp"
#include "sheaf_tools.h"

namespace {

// Which allocations of this thread fail inside a call of the library.
struct Plan {
  bool in_call = false;
  int64_t first = -1;  // allocations before the first failing one; negative: none fails
  int64_t left = 0;    // remaining failures
};
thread_local Plan plan;

bool fails_now() {
  if (!plan.in_call || plan.first < 0) return false;
  if (plan.first > 0) {
    --plan.first;
    return false;
  }
  if (plan.left == 0) return false;
  --plan.left;
  return true;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// calloc() is replaced as well, because the C library uses it for threads and for destructors of thread-local
// objects.
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* calloc(std::size_t count, std::size_t bytes) {
  if (!fails_now()) return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return nullptr;
}
#endif

// Not inlined, because the compiler would warn that free() does not match operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = fails_now() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sheaf::test::out_of_memory_test {
namespace {

template <class Call>
auto in_call(Call&& call) {
  plan.in_call = true;
  const auto result = call();
  plan.in_call = false;
  return result;
}

class OutOfMemory : public Api {
 protected:
  OutOfMemory() { ::setenv("SHEAF_LEASE_TIMES", "60000,50", 1); }  // no lease is refreshed during a test
  ~OutOfMemory() override { ::unsetenv("SHEAF_LEASE_TIMES"); }
  int open_to_write(const std::string& mode = "wb", long long chunk = 1000) {
    int ntasks = 1, nfiles = 1, block = 512, rank = 0, *ranks = &rank;
    long long* chunks = &chunk;
    return in_call([&] {
      return sion_open(name_.data(), mode.c_str(), &ntasks, &nfiles, &chunks, &block, &ranks, nullptr);
    });
  }
  // Writes a file. Returns false if a call failed.
  bool write_file() {
    const int sid = open_to_write();
    if (sid < 0) return false;
    const bool written =
        in_call([&] { return sion_fwrite(data_.data(), 1, data_.size(), sid); }) == data_.size();
    return in_call([&] { return sion_close(sid); }) == 1 && written;
  }
  // Writes a file and lets allocations fail in the write only. A failed write is not repeated, so the close
  // must fail too. Returns whether the write succeeded.
  bool write_badly(const char* mode) {
    const Plan meant = plan;
    plan = {};
    const int sid = open_to_write(mode);
    EXPECT_GE(sid, 0);
    plan = meant;
    const bool written =
        in_call([&] { return sion_fwrite(data_.data(), 1, data_.size(), sid); }) == data_.size();
    const int64_t left = std::exchange(plan, {}).left;
    EXPECT_EQ(sion_close(sid) == 1, written) << mode << ", " << sheaf_last_error();
    plan.left = left;
    return written;
  }
  static int64_t total_of(const std::vector<int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  }
  // Writes requests of the given sizes with chunks of 60,000 bytes. Allocations fail in the second request,
  // which is then repeated. A close that succeeds leaves all bytes, and one that fails their beginning.
  // Returns false if the request failed.
  bool write_repeatedly(const std::string& words, const std::vector<int64_t>& sizes) {
    const Plan meant = std::exchange(plan, {});
    const int sid = open_to_write("wb" + words, 60'000);
    EXPECT_GE(sid, 0);
    const std::vector<std::byte> data = content(0, 0, total_of(sizes));
    bool went_well = true;
    int64_t left = meant.left;
    for (size_t i = 0, done = 0; i < sizes.size(); done += static_cast<size_t>(sizes[i++])) {
      const auto write = [&] {
        return sion_fwrite(&data[done], 1, static_cast<size_t>(sizes[i]), sid) ==
               static_cast<size_t>(sizes[i]);
      };
      if (i == 1) {
        plan = meant;
        went_well = in_call(write);
        left = std::exchange(plan, {}).left;
        if (went_well) continue;
      }
      EXPECT_TRUE(write()) << sheaf_last_error();
    }
    // If the memory for remembering the failed request is lacking, the close fails.
    const bool closed = sion_close(sid) == 1;
    EXPECT_TRUE(closed || (!went_well && last_error_has("not repeated"))) << sheaf_last_error();
    const auto found = read_all();
    EXPECT_TRUE(closed ? found == data : std::ranges::equal(found, std::span(data).first(found.size())));
    std::filesystem::remove(name_ + ".lease");  // else the next writer waits for its owner
    plan.left = left;
    return went_well;
  }
  // Returns nothing if the file was not closed and has no journal.
  std::vector<std::byte> read_all() {
    std::vector<std::byte> found(1 << 20);
    const int sid = sion_open(name_.data(), "rb", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (sid < 0) return {};
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(sion_close(sid), 1);
    return found;
  }
  bool read_file() {
    const int sid = in_call(
        [&] { return sion_open(name_.data(), "rb", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); });
    if (sid < 0) return false;
    const bool got = in_call([&] { return sion_fread(back_.data(), 1, back_.size(), sid); }) == back_.size();
    return in_call([&] { return sion_close(sid); }) == 1 && got;
  }
  static constexpr int64_t all = std::numeric_limits<int64_t>::max();

  // Runs `act` many times. In each run, 1, 3, 10, 1000 or all allocations fail, from another allocation on.
  // Then calls `check` with the result of `act`.
  template <class Act, class Check>
  void sweep(Act act, Check check) {
    for (const int64_t in_a_row : {int64_t{1}, int64_t{3}, int64_t{10}, int64_t{1000}, all}) {
      bool failed = true;
      for (int64_t first = 0; failed; ++first) {
        plan = {.in_call = false, .first = first, .left = in_a_row};
        const bool went_well = act();
        failed = plan.left < in_a_row;
        plan = {};
        EXPECT_TRUE(went_well || failed) << sheaf_last_error();
        check(went_well);
      }
    }
  }

 private:
  std::string name_ = path("a.sion");
  const std::vector<std::byte> data_ = content(0, 0, 3000);
  std::vector<std::byte> back_ = std::vector<std::byte>(3000);
};

TEST_F(OutOfMemory, IsReportedHoweverManyAllocationsFailInARow) {
  ASSERT_TRUE(write_file());
  sweep([&] { return read_file(); },
        [&](bool went_well) {
          EXPECT_TRUE(went_well || last_error_has("out of memory")) << sheaf_last_error();
          EXPECT_TRUE(read_file());
        });
}

TEST_F(OutOfMemory, WhileWritingEndsNoProgramAndLosesNothing) {
  const std::filesystem::path lease = path("a.sion.lease");
  sweep([&] { return write_file(); },
        [&](bool went_well) {
          EXPECT_TRUE(!went_well || read_file());
          std::filesystem::remove(lease);  // otherwise the next writer waits 100 ms for the lease's owner
        });
}

// The first call of a thread allocates the thread's storage for messages. If this allocation fails, the call
// must still report that memory is exhausted.
TEST_F(OutOfMemory, FromTheFirstCallOfAThreadOn) {
  ASSERT_TRUE(write_file());
  sweep(
      [&] {
        const Plan wanted = plan;
        Plan left;
        bool went_well = false;
        std::thread([&] {
          plan = wanted;
          went_well = read_file();
          EXPECT_TRUE(went_well || last_error_has("out of memory")) << sheaf_last_error();
          left = plan;
        }).join();
        plan = left;
        return went_well;
      },
      [&](bool) { EXPECT_TRUE(read_file()); });
}

TEST_F(OutOfMemory, InAWriteThatIsNotRepeatedTheCloseFails) {
  for (const char* const mode :
       {"wb", "wb,buffer=0", "wb,buffer=0,term=flush", "wb,durable,buffer=0,journal=off", "wb,compress=zstd"})
    sweep([&] { return write_badly(mode); }, [](bool) {});
}

// If a seek to another task fails, the next write and the close must fail too. Otherwise the bytes would be
// in the stream of the old task.
TEST_F(OutOfMemory, InAChangeOfTasksTheNextWriteFails) {
  const std::string file = path("two");
  const std::vector<std::byte> first = content(0, 0, 100), second = content(1, 0, 100);
  sweep(
      [&] {
        const Plan meant = std::exchange(plan, {});
        const int sid = create(file, {1000, 1000});
        EXPECT_EQ(sion_fwrite(first.data(), 1, first.size(), sid), first.size());
        plan = meant;
        const bool changed =
            in_call([&] { return sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS); }) == 1;
        const Plan left = std::exchange(plan, {});
        EXPECT_EQ(sion_fwrite(second.data(), 1, second.size(), sid), changed ? second.size() : 0u);
        EXPECT_EQ(sion_close(sid), changed);
        plan = left;
        return changed;
      },
      [](bool) {});
}

// The failed write leaves chunks, and not even the memory for undoing that is available.
TEST_F(OutOfMemory, AWriteThatIsRepeatedLosesNothing) {
  for (const char* const words :
       {"", ",buffer=0", ",checksums=off", ",durable", ",journal=off", ",compress=zstd,compress_threads=0"})
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{3000, 58'000, 59'000}, {100, 70'000, 200'000}, {40'000, 90'000, 10'000}}) {
      SCOPED_TRACE(words + (" " + std::to_string(sizes[1])));
      sweep([&] { return write_repeatedly(words, sizes); }, [](bool) {});
    }
}

TEST_F(OutOfMemory, HasAKind) {
  plan = {.in_call = false, .first = 0, .left = 1000};
  EXPECT_EQ(open_to_write(), -1);
  plan = {};
  int number = 0;
  EXPECT_STREQ(sheaf_last_error_kind(&number, nullptr), "io");
  EXPECT_EQ(number, ENOMEM);
  EXPECT_TRUE(last_error_has("out of memory")) << sheaf_last_error();
}

}  // namespace
}  // namespace sheaf::test::out_of_memory_test

// Tasks that exchange contributions in a shared-memory barrier: threads over plain memory, and processes over
// a mapping.
#include "comm/shm_barrier.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/comm_model.hpp"
#include "comm/on_threads.hpp"

namespace sheaf::test::shm_barrier_test {
namespace {

constexpr size_t most = ShmBarrier::max_bytes;

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeDeleter>;

// Allocates zeroed memory, followed by guard bytes that must not change.
Memory zeroed(int tasks) {
  const size_t bytes = ShmBarrier::memory_size(tasks);
  EXPECT_EQ(bytes % 64, 0u);
  Memory memory(std::aligned_alloc(64, bytes + 64));
  std::memset(memory.get(), 0, bytes);
  std::memset(static_cast<std::byte*>(memory.get()) + bytes, 0x5a, 64);
  return memory;
}

void expect_end_untouched(const Memory& memory, int tasks) {
  const auto* const end = static_cast<const std::byte*>(memory.get()) + ShmBarrier::memory_size(tasks);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(end[i], std::byte{0x5a});
}

// Calls body(barrier) on one thread per task.
void on_barrier(int tasks, const std::function<void(ShmBarrier&)>& body) {
  const Memory memory = zeroed(tasks);
  on_threads(tasks, [&](int rank) {
    ShmBarrier barrier(memory.get(), rank, tasks);
    body(barrier);
  });
  expect_end_untouched(memory, tasks);
}

int64_t key(int round, int rank) { return round * 67 + rank; }

// Returns the length of a contribution: empty, one byte, close to the maximum, or any length. Rarely it is
// too long, for one task or for several.
size_t length(int round, int rank) {
  const uint64_t draw = mix(static_cast<uint64_t>(key(round, rank)));
  if (round % 13 == 5 && rank == round % 3) return most + 1 + draw % 5000;
  if (round % 29 == 6) return most + 1 + draw % 5000 * static_cast<size_t>(rank % 2);
  switch (draw % 6) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return most;
    case 3:
      return most - 1;
    default:
      return draw / 8 % most;
  }
}

// Meets once and compares the contributions. Throws std::logic_error on the task that finds a difference.
void check_barrier(ShmBarrier& barrier, int round) {
  const int me = barrier.rank();
  bool all_fit = true;
  for (int r = 0; r < barrier.size(); ++r) all_fit = all_fit && length(round, r) <= most;
  const bool fit =
      barrier.arrive_and_wait(pattern(key(round, me), static_cast<int64_t>(length(round, me))), [] {});
  require(fit == all_fit, "whether all contributions fit");
  for (int r = 0; r < barrier.size(); ++r) {
    const auto found = barrier.of(r);
    require(found.size() == (length(round, r) <= most ? length(round, r) : 0), "length of a contribution");
    require(is_pattern(key(round, r), found), "bytes of a contribution");
  }
}

TEST(ShmBarrier, EveryoneFindsWhatEveryoneLaidOut) {
  for (const int tasks : {1, 2, 3, 8})
    on_barrier(tasks, [](ShmBarrier& barrier) {
      for (int round = 0; round < 3000; ++round) check_barrier(barrier, round);
    });
}

TEST(ShmBarrier, WithAsManyTasksAsThereMayBe) {
  on_barrier(ShmBarrier::max_tasks, [](ShmBarrier& barrier) {
    for (int round = 0; round < 12; ++round) check_barrier(barrier, round);
  });
}

// In each round, one task is late. It arrives late, or it delays reading the contributions.
TEST(ShmBarrier, WaitsForTheSlow) {
  constexpr int tasks = 4;
  on_barrier(tasks, [](ShmBarrier& barrier) {
    for (int round = 0; round < 120; ++round) {
      if (round % tasks == barrier.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
      check_barrier(barrier, round);
      if (round % tasks == (barrier.rank() + 1) % tasks) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        for (int r = 0; r < tasks; ++r)
          require(is_pattern(key(round, r), barrier.of(r)), "a contribution lasts until the next barrier");
      }
    }
  });
}

// A task may do other work between its arrival and its wait.
TEST(ShmBarrier, ComesAndWaitsLater) {
  constexpr int tasks = 4;
  on_barrier(tasks, [](ShmBarrier& barrier) {
    for (int round = 0; round < 2000; ++round) {
      const int64_t mine = key(round, barrier.rank());
      if (round % tasks == barrier.rank()) {
        barrier.arrive_and_wait(pattern(mine, 100), [] {});
      } else {
        barrier.arrive(pattern(mine, 100));
        if (round % 3 == 0) std::this_thread::yield();
        require(barrier.wait([] {}), "all fit");
      }
      for (int r = 0; r < tasks; ++r) require(is_pattern(key(round, r), barrier.of(r)), "a contribution");
    }
  });
}

TEST(ShmBarrier, NobodyLeavesBeforeTheLastHasCome) {
  constexpr int tasks = 3;
  std::atomic<int> arrive = 0;
  on_barrier(tasks, [&](ShmBarrier& barrier) {
    for (int round = 0; round < 2000; ++round) {
      ++arrive;
      barrier.arrive_and_wait({}, [] {});
      require(arrive >= (round + 1) * tasks, "a meeting is over when all have arrived");
      barrier.arrive_and_wait({}, [] {});
    }
  });
}

TEST(ShmBarrier, ATaskThatWaitsLetsMessagesMoveOnAndSleeps) {
  int calls = 0;
  std::atomic<bool> moved = false;
  on_barrier(2, [&](ShmBarrier& barrier) {
    if (barrier.rank() == 0) {
      barrier.arrive_and_wait({}, [&] { moved = ++calls >= 5; });
    } else {
      while (!moved) std::this_thread::yield();  // arrives only after the waiting task has made progress
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      barrier.arrive_and_wait({}, [] {});
    }
  });
  EXPECT_GE(calls, 5);
  EXPECT_LT(calls, 1000);  // 50 ms in steps of up to 4 ms
}

void busy_for(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) continue;
}

// On shared cores, an unsuccessful poll of MPI takes microseconds. A waiting task must still release its
// core.
TEST(ShmBarrier, ACheckThatFindsNothingIsFollowedByABackoff) {
  int calls = 0;
  std::chrono::nanoseconds waited{};
  on_barrier(2, [&](ShmBarrier& barrier) {
    if (barrier.rank() == 0) {
      const auto begin = std::chrono::steady_clock::now();
      barrier.arrive_and_wait({}, [&] {
        ++calls;
        busy_for(std::chrono::microseconds(4));
      });
      waited = std::chrono::steady_clock::now() - begin;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      barrier.arrive_and_wait({}, [] {});
    }
  });
  EXPECT_LT(calls, waited / std::chrono::microseconds(100)) << "sleeps of 200 us";
}

// Returns the number of voluntary context switches of this thread.
long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(ShmBarrier, WhileMessagesMoveOnThereIsNoBackoff) {
  int calls = 0;
  std::atomic<bool> moved = false;
  long sleeps = 0;
  on_barrier(2, [&](ShmBarrier& barrier) {
    if (barrier.rank() == 0) {
      const long before = sleeps_of_this_thread();
      barrier.arrive_and_wait({}, [&] {
        busy_for(std::chrono::microseconds(20));
        moved = ++calls >= 3000;
      });
      sleeps = sleeps_of_this_thread() - before;
    } else {
      while (!moved) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      barrier.arrive_and_wait({}, [] {});
    }
  });
  EXPECT_LT(sleeps, calls / 10);
}

TEST(ShmBarrier, OfProcesses) {
  for (const int tasks : {2, 5}) {
    const size_t bytes = ShmBarrier::memory_size(tasks);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::vector<pid_t> children;
    for (int rank = 0; rank < tasks; ++rank) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      ::alarm(120);  // kills the process instead of waiting for a dead peer
      ShmBarrier barrier(memory, rank, tasks);
      try {
        for (int round = 0; round < 2000; ++round) check_barrier(barrier, round);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    for (const pid_t child : children) {
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    ::munmap(memory, bytes);
  }
}

}  // namespace
}  // namespace sheaf::test::shm_barrier_test

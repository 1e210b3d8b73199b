#include "comm/shm_barrier.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/assert.hpp"
#include "comm/spin_wait.hpp"

namespace sheaf {

namespace {

using namespace comm_constants;

// Returns the processor time of this thread in ns. Elapsed time would include the time in which `progress`
// yields its core.
long worked() {
  struct timespec time {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Returns how long a task polls: for a shorter time if many tasks share a core, because polling slows down
// the tasks that compute.
Glances timeout(int tasks) {
  static const long few = 2L * std::max(1U, std::thread::hardware_concurrency());
  const long share = std::max(1L, tasks / few);
  return {glances, awake / (share * share)};
}

long cost_of(const std::function<void()>& progress) {
  const long before = worked();
  progress();
  return worked() - before;
}

}  // namespace

struct alignas(64) ShmBarrier::ShmBarrierHeader {
  SharedWord arrive;
  SharedWord barriers;
  SharedWord too_long[2];
};

struct alignas(64) ShmBarrier::Contribution {
  uint64_t length;
  std::byte data[max_bytes];
};

size_t ShmBarrier::memory_size(int tasks) {
  return sizeof(ShmBarrierHeader) + 2 * static_cast<size_t>(tasks) * sizeof(Contribution);
}

ShmBarrier::ShmBarrier(void* memory, int rank, int size)
    : head_(static_cast<ShmBarrierHeader*>(memory)),
      contributions_(static_cast<std::byte*>(memory) + sizeof(ShmBarrierHeader)),
      rank_(rank),
      size_(size) {
  SHEAF_ASSERT(reinterpret_cast<uintptr_t>(memory) % alignof(ShmBarrierHeader) == 0);
  SHEAF_ASSERT(size <= max_tasks && rank >= 0 && rank < size);
}

struct ShmBarrier::BarrierWords {
  ShmBarrierHeader& head;
  uint32_t tasks;
  SharedWord& arrive() const { return head.arrive; }
  SharedWord& barriers() const { return head.barriers; }
  SharedWord& too_long(uint32_t barrier) const { return head.too_long[barrier % 2]; }
  uint32_t size() const { return tasks; }
};

ShmBarrier::Contribution& ShmBarrier::contribution(uint32_t barrier, int rank) const {
  const size_t number = (barrier % 2) * static_cast<size_t>(size_) + static_cast<size_t>(rank);
  return reinterpret_cast<Contribution*>(contributions_)[number];
}

void ShmBarrier::arrive(std::span<const std::byte> mine) {
  using BarrierAction = BarrierProtocol<SharedWord>::BarrierAction;
  steps_.go_on();
  BarrierWords words{*head_, static_cast<uint32_t>(size_)};
  const bool fits = mine.size() <= max_bytes;
  while (!steps_.waits()) {
    const BarrierAction what = steps_.step(words, fits);
    if (what == BarrierAction::post) {
      Contribution& own = contribution(steps_.number(), rank_);
      own.length = fits ? mine.size() : 0;
      if (fits && !mine.empty()) std::memcpy(own.data, mine.data(), mine.size());
    }
    if (what == BarrierAction::wake) wake(head_->barriers);
  }
}

bool ShmBarrier::wait(const std::function<void()>& progress) {
  SHEAF_ASSERT(steps_.waits());
  const uint32_t number = steps_.number();
  const auto is_over = [&] { return head_->barriers.load(std::memory_order_acquire) != number; };
  if (!spin_wait(timeout(size_), is_over, sched_yield)) {
    for (Backoff backoff(barrier_backoff); !is_over();) {
      sleep_while(head_->barriers, number, backoff.next().count());
      if (is_over()) break;
      // A large message makes progress in many small steps, so call `progress` again without sleeping.
      long cost = cost_of(progress);
      if (cost > surely_idle) backoff.restart();
      while (cost > surely_moves && !is_over()) {
        sched_yield();
        cost = cost_of(progress);
      }
    }
  }
  SHEAF_ASSERT(head_->barriers.load(std::memory_order_relaxed) == number + 1);
  steps_.go_on();
  return head_->too_long[number % 2].load(std::memory_order_relaxed) == 0;
}

std::span<const std::byte> ShmBarrier::of(int rank) const {
  SHEAF_ASSERT(rank >= 0 && rank < size_ && !steps_.waits());
  const Contribution& found = contribution(steps_.number() - 1, rank);
  return {found.data, static_cast<size_t>(found.length)};
}

}  // namespace sheaf

#include "storage/turn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/glance.hpp"
#include "storage/posix_locks.hpp"
#include "storage/range_lock.hpp"

namespace sheaf {

namespace {

// Bytes that no multifile reaches: the turn, and the place of the one who is next.
constexpr off_t turn_byte = INT64_MAX - 1;
constexpr off_t next_byte = INT64_MAX - 2;

constexpr useconds_t pause = 300;     // microseconds between two looks of the next one
constexpr int most_looks = 100;       // at a shared word, then it goes ahead
constexpr long first_nap = 100'000;   // nanoseconds before the second look at a shared word
constexpr long longest_nap = 1'000'000;
constexpr long nap = 100'000'000;     // nanoseconds that others sleep before they look themselves
constexpr int most_naps = 10;         // then they pass the next one
constexpr std::chrono::nanoseconds most_waiting{most_naps * nap};  // of all, where there are no words to sleep on; then they go ahead
constexpr int most_yields = 1000;     // of one who waits awake
constexpr std::chrono::microseconds core_unwanted{50};  // it comes back within this time if those who have it only look as well

bool lock(int fd, short type, off_t byte) { return try_lock_range(fd, type, byte, 1) == 0; }

// Whether this byte is no turn's, but in a range that the program has locked for itself: nobody knows until when.
bool is_barred(int fd, off_t byte) {
  const auto bar = find_bar(fd, F_WRLCK, byte, 1);
  return bar && (bar->of_program() || bar->from != byte || bar->to != byte + 1);
}

}  // namespace

Turn::Turn(int fd, std::mutex& among_threads, SharedWord* words, Wait wait)
    : among_threads_(wait == Wait::no ? std::unique_lock(among_threads, std::try_to_lock) : std::unique_lock(among_threads)),
      fd_(fd),
      words_(words) {
  if (!among_threads_) return;
  mine_ = words_ ? try_words() : try_locks();
  if (mine_ || wait == Wait::no) return;
  if (wait == Wait::awake) {
    wait_awake();
  } else if (words_) {
    take_words();
  } else {
    take_locks();
  }
}

// Where giving the core away brings it back at once, nobody there has anything to do but to wait: then one of those who wait may as well
// stand in the lock of the inode, which lets it in with no delay.
void Turn::wait_awake() {
  using clock = std::chrono::steady_clock;
  auto before = clock::now();
  bool gave_away = false;
  const auto may_go = [&] {
    mine_ = words_[0].load(std::memory_order_relaxed) == 0 && try_words();
    if (mine_) return true;
    const auto now = clock::now();
    if (std::exchange(gave_away, true) && now - before < core_unwanted && words_[1].load(std::memory_order_relaxed) == 0)
      next_ = words_[1].exchange(1, std::memory_order_acquire) == 0;
    before = now;
    return next_;
  };
  glance({.least = most_yields}, may_go, sched_yield);
}

bool Turn::try_words() { return words_[0].exchange(1, std::memory_order_acquire) == 0; }

bool Turn::try_locks() { return lock(fd_, F_WRLCK, turn_byte); }

// The place of the next one is a mutex: 0 free, 1 taken, 2 taken and others sleep.
void Turn::take_words() {
  SharedWord& taken = words_[0];
  SharedWord& next = words_[1];
  uint32_t before = 0;
  if (!next.compare_exchange_strong(before, 1))
    for (int naps = 0; next.exchange(2) != 0 && naps < most_naps; ++naps) sleep_while(next, 2, nap);
  for (int looks = 0; !(mine_ = try_words()) && looks < most_looks; ++looks)
    sleep_while(taken, 1, std::min<long>(first_nap << std::min(looks, 8), longest_nap));
  if (next.exchange(0) == 2) wake(next, 1);
}

// The others look for the place of the next one ever more seldom, and nobody for ever: a lock of the program's may come in between,
// which wakes nobody when it goes.
void Turn::take_locks() {
  bool next = false;
  for (const Looks looks; looks.waited() < most_waiting && !is_barred(fd_, turn_byte);) {
    if (!next) next = lock(fd_, F_WRLCK, next_byte);
    if (next) mine_ = try_locks();
    if (mine_) break;
    if (next) {
      ::usleep(pause);
    } else {
      looks.rest();
    }
  }
  if (next) lock(fd_, F_UNLCK, next_byte);
}

void last_turn_taken(SharedWord* words) {
  if (words) wake(words[0], 1);
}

Turn::~Turn() {
  if (next_) words_[1].store(0, std::memory_order_release);
  if (!mine_) return;
  if (words_) {
    words_[0].store(0, std::memory_order_release);
  } else {
    lock(fd_, F_UNLCK, turn_byte);
  }
}

}  // namespace sheaf

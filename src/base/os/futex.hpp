// base/os/futex: waits on a word of memory, which processes may share, until another task changes it
// (futex(2)).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "base/assert.hpp"

namespace sheaf {

using SharedWord = std::atomic<uint32_t>;
static_assert(sizeof(SharedWord) == sizeof(uint32_t) && SharedWord::is_always_lock_free);

// Sleeps while `word` equals `value`, for at most `nanoseconds`, which must be less than a second. May return
// early.
inline void sleep_while(SharedWord& word, uint32_t value, long nanoseconds) {
  SHEAF_ASSERT(nanoseconds > 0 && nanoseconds < 1'000'000'000);
  const timespec most{0, nanoseconds};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &most, nullptr, 0);
}

// Wakes all tasks that sleep on `word`.
inline void wake(SharedWord& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sheaf

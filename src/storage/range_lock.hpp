// storage/range_lock: a locked range of a file, and the timeouts for acquiring it.
//
// Tasks of this library lock a range for one transfer and wait for no other task during it, so their locks
// are always released. A lock of the program itself (lockf, fcntl) is different: its holder may be waiting
// for this task in a collective call. Therefore every wait has a timeout. A task that can do without the lock
// does not wait for the program at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/os/backoff.hpp"

namespace sheaf {

// How to handle a part of the range that another holder has locked.
enum class OnConflict : uint8_t {
  refusal,  // do not wait
  report,   // wait for other tasks; report a lock of the program at once: the caller can do without the lock
  wait,     // wait for the program, too, for conflict_timeout; then fail
};

struct LockRequest {
  int64_t offset = 0;  // bytes
  int64_t length = 0;  // bytes > 0
  bool exclusive = true;
  OnConflict on_conflict = OnConflict::wait;
  std::chrono::milliseconds timeout{0};  // timeout for other tasks (lock_timeout)
};

// A held lock. The last copy of `held` releases it and must be dropped before the File.
struct [[nodiscard]] RangeLock {
  std::shared_ptr<void> held;  // null: the range is not locked by this call
  int64_t from = 0;  // if `held` is null, the program has locked bytes [from, to) of the file, if any
  int64_t to = 0;

  explicit operator bool() const { return held != nullptr; }
};

// Returns a lock that calls `release` when it is dropped. `release` must not throw.
template <class Release>
RangeLock held_until(Release release) {
  static char held;
  return {{&held, [release = std::move(release)](void*) mutable { release(); }}};
}

// Returns the lock together with `kept`, which is destroyed after the lock is released.
template <class Kept>
RangeLock kept_with(RangeLock lock, Kept kept) {
  using Both = std::pair<Kept, std::shared_ptr<void>>;  // the second one is destroyed first
  if (lock) lock.held = std::make_shared<Both>(std::move(kept), std::move(lock.held));
  return lock;
}

// Returns the timeout for one of `tasks` tasks that lock a range of `length` bytes. In that time, each task
// could move the range, or its first 64 MiB, at 1 MiB per second; ten seconds are added for servers that
// restart. Working storage never needs that long: an expired timeout means that a task was stopped.
std::chrono::milliseconds lock_timeout(int64_t tasks, int64_t length);

// Timeout for locks of the program. Programs hold their own locks briefly, or during a call that no other
// task takes part in.
inline constexpr std::chrono::seconds conflict_timeout{10};

// Backoff for polling until a range is free.
inline constexpr BackoffTerms lock_backoff{
    .first = std::chrono::microseconds(20), .max = std::chrono::milliseconds(10), .share = 8};

// Returns the error for a lock that timed out. `holder` describes the holder of the range, for example
// "another task".
Error not_locked(const std::string& path, int64_t offset, int64_t length, const std::string& holder,
                 std::chrono::nanoseconds waited);

}  // namespace sheaf

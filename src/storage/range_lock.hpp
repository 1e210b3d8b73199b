// storage/range_lock: a range of a file that a task has locked, and how long one waits for it.
//
// Tasks of this library lock a range for a transfer of their own and wait for nobody meanwhile, so what they
// hold comes free. A lock that the program has taken (lockf, fcntl) is another matter: its holder may wait
// for this very task, in a collective call. So nobody waits for ever, and for a lock of the program's not at
// all where there is a way without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace sheaf {

// What to do if somebody else has locked a part of the range.
enum class Barred : uint8_t {
  refuse,  // nobody is waited for
  tell,    // other tasks are waited for; that the program has the lock is told at once: the caller has a way
           // without it
  wait,    // for the program as well, barred_patience; then it is an error
};

struct LockRequest {
  int64_t offset = 0;  // bytes
  int64_t length = 0;  // bytes > 0
  bool exclusive = true;
  Barred barred = Barred::wait;
  std::chrono::milliseconds patience{0};  // with other tasks (lock_patience)
};

// Ends with the last copy of `held`, which must be before the File goes.
struct [[nodiscard]] RangeLock {
  std::shared_ptr<void> held;  // null: the range is not locked
  int64_t from = 0;            // then, if the program has it: bytes [from, to) of the file are its
  int64_t to = 0;

  explicit operator bool() const { return held != nullptr; }
};

// A lock that `release`, which must not throw, gives back.
template <class Release>
RangeLock held_until(Release release) {
  static char held;
  return {{&held, [release = std::move(release)](void*) mutable { release(); }}};
}

// The lock, and something that is kept until it has been given back.
template <class Kept>
RangeLock kept_with(RangeLock lock, Kept kept) {
  using Both = std::pair<Kept, std::shared_ptr<void>>;  // the latter goes first
  if (lock) lock.held = std::make_shared<Both>(std::move(kept), std::move(lock.held));
  return lock;
}

// How long the others of `tasks` who want it may keep a range of `length` bytes from one of them. Nobody
// waits so long whose storage works: it is the time in which each of them could move the range, or 64 MiB of
// it, at 1 MiB a second, and ten seconds for servers that come back. Who has waited so long waits for a task
// that was stopped.
std::chrono::milliseconds lock_patience(int64_t tasks, int64_t length);

// Programs hold locks of their own for a moment, or until a call is over that they have told nobody else of.
inline constexpr std::chrono::seconds barred_patience{10};

// For who looks again and again whether a range is free.
class Looks {
 public:
  std::chrono::nanoseconds waited() const { return Clock::now() - begin_; }
  // Sleeps an eighth of the time that has passed, 20 us to 10 ms: looking costs little, and little time is
  // lost.
  void rest() const;

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
};

// The error of who gives up; `holder` has the range, e.g. "another task".
Error not_locked(const std::string& path, int64_t offset, int64_t length, const std::string& holder,
                 std::chrono::nanoseconds waited);

}  // namespace sheaf

// storage/range_lock: what File::lock() finds, and how long it waits.
//
// Tasks of this library lock a range for a transfer of their own and wait for nobody meanwhile, so what they
// hold comes free. A lock that the program has taken (lockf, fcntl) is another matter: its holder may wait
// for this very task, in a collective call. So nobody waits for ever, and for a lock of the program's not at
// all where there is a way without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace sheaf {

// What to do if the program has locked a part of the range.
enum class Barred : uint8_t {
  tell,  // at once: the caller has a way without the lock
  wait,  // barred_patience, then it is an error
};

struct LockResult {
  bool held = true;
  int64_t from = 0;  // if not: bytes [from, to) of the file are locked by the program
  int64_t to = 0;
};

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

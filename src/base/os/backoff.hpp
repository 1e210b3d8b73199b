// base/os/backoff: how the waits of a task grow while it polls for a change.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/assert.hpp"
#include "base/os/deadline.hpp"

namespace sheaf {

// The task sleeps for `first`, then longer each time. With `share` 1, every sleep takes twice as long as the
// one before.
struct BackoffTerms {
  std::chrono::nanoseconds first{};     // limits the cost of polling
  std::chrono::nanoseconds max{};       // the longest sleep; limits the time lost
  int share = 1;                        // a sleep grows by this part (1/share) of all time slept before
  std::chrono::nanoseconds yielding{};  // time in which the task yields its core before it sleeps

  // Returns the length of the next sleep of a task that has slept for `slept`.
  constexpr std::chrono::nanoseconds pause_after(std::chrono::nanoseconds slept) const {
    return std::min(first + slept / share, max);
  }
  // Yields or sleeps once. For callers that measure by another clock that they have waited for `waited`.
  void wait_after(std::chrono::nanoseconds waited) const {
    waited < yielding ? std::this_thread::yield() : std::this_thread::sleep_for(pause_after(waited));
  }
};

class Backoff {
 public:
  explicit Backoff(const BackoffTerms& how) : how_(how) {
    SHEAF_ASSERT(how.first.count() > 0 && how.first <= how.max && how.share > 0);
  }

  // Returns the time since the construction.
  std::chrono::nanoseconds waited() const { return std::chrono::steady_clock::now() - begin_; }
  // Returns the length of the next sleep. The caller sleeps, for example on a futex.
  std::chrono::nanoseconds next() {
    const auto pause = how_.pause_after(slept_);
    slept_ += pause;
    return pause;
  }
  // Yields or sleeps.
  void wait() {
    const bool yields = how_.yielding.count() > 0 && waited() < how_.yielding;
    yields ? std::this_thread::yield() : std::this_thread::sleep_for(next());
  }
  // Sleeps until `deadline` at most.
  void wait(const Deadline& deadline) { std::this_thread::sleep_for(std::min(next(), deadline.remaining())); }
  // Lets the sleeps grow from the first one again, after progress.
  void restart() { slept_ = {}; }

 private:
  const BackoffTerms how_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds slept_{};
};

}  // namespace sheaf

// base/os/backoff: how the waits of a task grow while it polls for a change.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/assert.hpp"
#include "base/os/deadline.hpp"

namespace sheaf {

// Parameters of a Backoff. A sleep lasts `first` plus 1/`share` of the time that the task has waited, at most
// `max`. With `share` 1, each sleep is twice as long as the one before.
struct BackoffTerms {
  std::chrono::nanoseconds first{};  // limits the cost of polling
  std::chrono::nanoseconds max{};    // the longest sleep; limits the time lost
  int share = 1;
  std::chrono::nanoseconds yielding{};  // time in which the task yields its core before it sleeps

  constexpr bool is_valid() const { return first.count() > 0 && first <= max && share > 0; }
  // Returns the length of the next sleep of a task that has waited for `waited`.
  constexpr std::chrono::nanoseconds pause_after(std::chrono::nanoseconds waited) const {
    return std::min(first + waited / share, max);
  }
  // Yields or sleeps once, for a caller that has waited for `waited` by its own clock.
  void wait_after(std::chrono::nanoseconds waited) const {
    SHEAF_DEBUG_ASSERT(is_valid());
    waited < yielding ? std::this_thread::yield() : std::this_thread::sleep_for(pause_after(waited));
  }
};

class Backoff {
 public:
  explicit Backoff(const BackoffTerms& how) : how_(how) { SHEAF_ASSERT(how.is_valid()); }

  // Returns the time since the construction.
  std::chrono::nanoseconds waited() const { return std::chrono::steady_clock::now() - begin_; }
  // Returns the length of the next sleep. The caller sleeps, for example on a futex.
  std::chrono::nanoseconds next() {
    // Doubling counts sleeps only, so that the number of calls decides, not their duration.
    const auto pause = how_.pause_after(how_.share > 1 ? waited() : slept_);
    slept_ += pause;
    return pause;
  }
  // Yields or sleeps.
  void wait() {
    const bool yields = how_.yielding.count() > 0 && waited() < how_.yielding;
    yields ? std::this_thread::yield() : std::this_thread::sleep_for(next());
  }
  // Sleeps until `deadline` at most. Never yields.
  void wait(const Deadline& deadline) {
    SHEAF_ASSERT(how_.yielding.count() == 0);
    std::this_thread::sleep_for(std::min(next(), deadline.remaining()));
  }
  // Lets the sleeps grow from the first one again, after progress. Requires share == 1.
  void restart() {
    SHEAF_ASSERT(how_.share == 1);
    slept_ = {};
  }

 private:
  const BackoffTerms how_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds slept_{};
};

}  // namespace sheaf

// comm/spin_wait: polls a condition for a short time before the caller blocks.
//
// Blocking and waking up takes about as long as most waits between tasks that work together (docs/tuning.md,
// "Shared files"). A waiting task therefore polls first and yields its core between polls. Polling costs an
// idle core nothing, and it saves the last task to arrive the wake-up. The caller chooses how long to poll.
#pragma once

#include <chrono>

#include "base/assert.hpp"
#include "base/os/deadline.hpp"

namespace sheaf {

struct Glances {
  int least = 0;                     // minimum number of polls
  std::chrono::nanoseconds awake{};  // polling time after which the caller blocks
};

// Polls `ready` and calls `pause` between two polls. Returns false if `ready` is still false after the last
// poll; the caller should block then.
template <class Ready, class Pause>
bool spin_wait(const Glances& how, Ready ready, Pause pause) {
  SHEAF_ASSERT(how.least >= 0 && how.awake.count() >= 0);
  for (int looks = 0; looks < how.least; ++looks) {
    if (ready()) return true;
    pause();
  }
  if (how.awake.count() == 0) return ready();
  for (const Deadline deadline(how.awake); !deadline.expired(); pause())
    if (ready()) return true;
  return ready();
}

}  // namespace sheaf

// comm/glance: looking whether others have come, before a task sleeps until they have.
//
// To fall asleep and be woken takes as long as most of what tasks wait for when they work together
// (docs/tuning.md, "Shared files"). So who waits looks again and again at first, and in between gives its
// core to whoever wants it: a core that nobody else wants loses nothing by that, and who comes late has
// nobody to wake. How long it looks depends on what it waits for.
#pragma once

#include <chrono>

namespace sheaf {

struct Glances {
  int least = 0;                     // looks, at least
  std::chrono::nanoseconds awake{};  // and it goes on for so long
};

// Calls `pause` between two looks at `ready`. False if it is not ready after the last: then it is time to
// sleep.
template <class Ready, class Pause>
bool glance(const Glances& how, Ready ready, Pause pause) {
  using clock = std::chrono::steady_clock;
  const bool timed = how.awake.count() > 0;
  const auto until = timed ? clock::now() + how.awake : clock::time_point{};
  for (int looks = 0; looks < how.least || (timed && clock::now() < until); ++looks) {
    if (ready()) return true;
    pause();
  }
  return ready();
}

}  // namespace sheaf

// support/fibers/fiber_tsan: what ThreadSanitizer must know of fibers, nothing in other builds. Private to
// fiber_scheduler.hpp.
//
// It keeps the calls under way per thread or fiber; without this they would be mixed up by every switch, and
// those that never return would pile up. It has room for some 8000 of both: tasks share fibers of it if there
// are more, which only mixes up the calls in its reports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define SHEAF_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHEAF_FIBER_TSAN 1
#endif
#endif
#ifdef SHEAF_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace sheaf::fibers {

#ifdef SHEAF_FIBER_TSAN
class WatchedFibers {
 public:
  explicit WatchedFibers(int tasks) : fibers_(static_cast<size_t>(std::min(tasks, 1000))) {
    for (void*& fiber : fibers_) fiber = __tsan_create_fiber(0);
  }
  WatchedFibers(const WatchedFibers&) = delete;
  WatchedFibers& operator=(const WatchedFibers&) = delete;
  ~WatchedFibers() {
    for (void* fiber : fibers_) __tsan_destroy_fiber(fiber);
  }

  // The next thing that runs is this task, or the thread itself if it is negative. Inline: a call would begin
  // with one fiber and end with another.
  [[gnu::always_inline]] void switch_to(int task) const {
    __tsan_switch_to_fiber(task < 0 ? own_ : fibers_[static_cast<size_t>(task) % fibers_.size()], 0);
  }

 private:
  void* own_ = __tsan_get_current_fiber();
  std::vector<void*> fibers_;
};
#else
struct WatchedFibers {
  explicit WatchedFibers(int) {}
  void switch_to(int) const {}
};
#endif

}  // namespace sheaf::fibers

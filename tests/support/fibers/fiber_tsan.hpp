// support/fibers/fiber_tsan: announces fibers to ThreadSanitizer. Has no effect in other builds. Private to
// fiber_scheduler.hpp.
//
// ThreadSanitizer keeps a call stack per thread or fiber. Without these announcements every switch would mix
// up the stacks, and calls that never return would accumulate. It supports about 8000 threads and fibers. If
// there are more tasks, several share one of its fibers, which only mixes up the calls in its reports.
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

  // Announces that `task` runs next, or the thread itself if `task` is negative. Must be inlined, because a
  // function call would begin in one fiber and end in another.
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

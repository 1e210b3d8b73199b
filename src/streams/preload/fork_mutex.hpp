// streams/preload/fork_mutex: a mutex that is free in the child of a fork, regardless of its state in the
// parent. fork acquires all ForkMutexes, so a thread must not acquire one while holding another.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "base/non_copyable.hpp"

namespace sheaf::preload {

// State that a ForkMutex guards. All ForkMutexes of the same value share one mutex.
enum class Guards { slots, sets, following, directories, streams, spawns, mappings };

class ForkMutex : private NonCopyable {
 public:
  constexpr explicit ForkMutex(Guards what) : mutex_(&all[size_t(what)]) {}

  void lock() noexcept { pthread_mutex_lock(mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(mutex_); }

  // Acquire and release the mutexes of all values. For the handlers of fork(2).
  static void lock_all() noexcept {
    for (pthread_mutex_t& one : all) pthread_mutex_lock(&one);
  }
  static void unlock_all() noexcept {
    for (pthread_mutex_t& one : all) pthread_mutex_unlock(&one);
  }

 private:
  static inline constinit pthread_mutex_t all[size_t(Guards::mappings) + 1] = {
      PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
      PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
      PTHREAD_MUTEX_INITIALIZER};
  pthread_mutex_t* const mutex_;
};

}  // namespace sheaf::preload

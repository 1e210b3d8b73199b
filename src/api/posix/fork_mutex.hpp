// api/posix/fork_mutex: a lock that is free in the child of a fork, whoever held it in the parent. Fork takes
// all of them, so nobody may take one while holding another.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace sheaf::posix {

// What each of them guards.
enum class Guards { slots, sets, following, directories, streams, spawns, mappings };

class ForkMutex {
 public:
  constexpr explicit ForkMutex(Guards what) : mutex_(&all[size_t(what)]) {}
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept { pthread_mutex_lock(mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(mutex_); }

  // For the handlers of fork(2): also those that nobody has used.
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

}  // namespace sheaf::posix

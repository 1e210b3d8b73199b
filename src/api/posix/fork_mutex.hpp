// api/posix/fork_mutex: a lock that is free in the child of a fork, whoever held it in the parent.
#pragma once

#include <pthread.h>

#include <atomic>

namespace sheaf::posix {

class ForkMutex {
 public:
  constexpr ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept {
    if (!listed_.load(std::memory_order_relaxed)) enlist();
    pthread_mutex_lock(&mutex_);
  }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  // For the handlers of fork(2): all there are, in one order.
  static void lock_all() noexcept {
    for (ForkMutex* one = first.load(); one; one = one->next_) pthread_mutex_lock(&one->mutex_);
  }
  static void unlock_all() noexcept {
    for (ForkMutex* one = first.load(); one; one = one->next_) pthread_mutex_unlock(&one->mutex_);
  }

 private:
  void enlist() noexcept {
    if (listed_.exchange(true)) return;
    next_ = first.load();
    while (!first.compare_exchange_weak(next_, this)) continue;
  }

  static inline constinit std::atomic<ForkMutex*> first{nullptr};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ForkMutex* next_ = nullptr;
  std::atomic<bool> listed_{false};
};

}  // namespace sheaf::posix

#include "base/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace sheaf {

namespace {
std::atomic<int64_t> seen{0};
}  // namespace

int64_t forks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { seen.fetch_add(1, std::memory_order_relaxed); });
  return seen.load(std::memory_order_relaxed);
}

}  // namespace sheaf

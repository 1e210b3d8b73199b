// creation/work_threads: the copying of a tool on the cores there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "creation/constants.hpp"
#include "creation/work_progress.hpp"

namespace sheaf {

// Passes the calls of several threads on, one at a time.
class SharedProgress : public WorkProgress {
 public:
  SharedProgress(WorkProgress& inner, std::mutex& mutex) : inner_(inner), mutex_(mutex) {}
  void advance(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    inner_.advance(bytes);
  }

 private:
  WorkProgress& inner_;
  std::mutex& mutex_;
};

// For every item i = 0..count-1: work(i, begin(i), progress). The begins happen one at a time, in order; the
// works on up to 4 threads, as many as there are cores. Rethrows the first failure, after which no item is
// begun.
template <class Begin, class Work>
void on_threads(int64_t count, WorkProgress& progress, Begin begin, Work work) {
  std::mutex mutex;  // guards all but the works
  int64_t next = 0;
  std::exception_ptr failure;
  SharedProgress shared(progress, mutex);
  const auto run = [&] {
    try {
      for (;;) {
        std::unique_lock lock(mutex);
        if (failure || next == count) return;
        const int64_t item = next++;
        auto begun = begin(item);
        lock.unlock();
        work(item, std::move(begun), shared);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    const int64_t wanted =
        std::min<int64_t>({creation_constants::most_threads, std::thread::hardware_concurrency(), count});
    try {
      for (int64_t i = 1; i < wanted; ++i) threads.emplace_back(run);
    } catch (const std::system_error&) {
      // No more threads to be had: those there are do it.
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sheaf

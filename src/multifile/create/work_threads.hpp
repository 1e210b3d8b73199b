// multifile/create/work_threads: runs the copying of a tool on several cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "multifile/create/constants.hpp"
#include "multifile/create/work_progress.hpp"

namespace sheaf::multifile {

// Forwards the advance() calls of several threads to `inner`, one at a time.
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

// Calls work(i, begin(i), progress) for every item i = 0..count-1. The `begin` calls run one at a time and in
// order. The `work` calls run on up to 4 threads, at most one per core. After a failure, no further item is
// begun, and the first failure is rethrown when all threads have ended.
template <class Begin, class Work>
void on_threads(int64_t count, WorkProgress& progress, Begin begin, Work work) {
  std::mutex mutex;  // guards everything except the `work` calls
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
        std::min<int64_t>({creation_constants::max_threads, std::thread::hardware_concurrency(), count});
    try {
      for (int64_t i = 1; i < wanted; ++i) threads.emplace_back(run);
    } catch (const std::system_error&) {
      // No further threads can be created; the existing ones do the work.
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sheaf::multifile

// exchange/transfer/io_counters: counters of transfers. The code that transfers bytes updates them.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/non_copyable.hpp"

namespace sheaf::exchange {

struct IoCounters {
  int64_t requests = 0;  // reads and writes of the file
  int64_t file_bytes_written = 0;
  int64_t file_bytes_read = 0;
  int64_t exchanged_bytes = 0;  // passed to another task through shared memory or in a message
  int64_t direct_calls = 0;
  int64_t exchange_calls = 0;
  int64_t sieve_calls = 0;
  int64_t plans_made = 0;
  int64_t plans_reused = 0;
  int64_t aggregators = 0;  // maximum in one call
  int64_t exchange_ns = 0;
  int64_t file_ns = 0;
};

// Adds the lifetime of the object, in nanoseconds, to a counter.
class ScopedTimer : private NonCopyable {
 public:
  explicit ScopedTimer(int64_t& sum) : sum_(sum), begin_(std::chrono::steady_clock::now()) {}
  ~ScopedTimer() {
    sum_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_)
                .count();
  }

 private:
  int64_t& sum_;
  const std::chrono::steady_clock::time_point begin_;
};

}  // namespace sheaf::exchange

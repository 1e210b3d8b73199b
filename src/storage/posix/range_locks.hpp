// storage/posix/range_locks: ranges of a file that threads of this process hold.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sheaf {

// Offsets and lengths in bytes, lengths > 0. Thread-safe.
class RangeLocks {
 public:
  // Waits until the range is free, or held by sharing threads only if this lock is shared as well. Returns
  // false, without a lock, if that takes longer than `patience`.
  [[nodiscard]] bool lock(int64_t offset, int64_t length, bool exclusive, std::chrono::milliseconds patience);
  // Releases a range, which must be exactly as it was locked.
  void unlock(int64_t offset, int64_t length);

 private:
  struct Held {
    int64_t offset;
    int64_t length;
    bool exclusive;
  };
  bool is_free(const Held& wanted) const;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Held> held_;
};

}  // namespace sheaf

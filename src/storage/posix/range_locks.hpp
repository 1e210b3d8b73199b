// storage/posix/range_locks: locks between threads of this process on ranges of a file.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sheaf {

// Offsets and lengths are in bytes; lengths are > 0. Any thread may call the functions.
class RangeLocks {
 public:
  // Locks a range; waits until no lock in the range conflicts with it. Two shared locks do not conflict.
  // Returns false, without a lock, if that takes longer than `timeout`.
  [[nodiscard]] bool lock(int64_t offset, int64_t length, bool exclusive, std::chrono::milliseconds timeout);
  // Releases a lock. The range must be exactly the one passed to lock().
  void unlock(int64_t offset, int64_t length);

 private:
  struct LockedRange {
    int64_t offset;
    int64_t length;
    bool exclusive;
  };
  bool is_free(const LockedRange& wanted) const;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<LockedRange> held_;
};

}  // namespace sheaf

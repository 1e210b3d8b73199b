// exchange/transfer/held_writes: small independent writes of a task that wait in memory for the next
// collective call of the file.
//
// If hosts have caches of their own, every extent that a task writes is a request to the server. Nonatomic
// mode lets other tasks see the bytes after the next sync only (MPI 3.1, 13.6.1), so the task may keep them
// until then and pass them to the exchange, which merges the extents of all tasks. The task itself must see
// its bytes at once: read() adds them to what the file has, and end() to its size.
//
// take() begins to drain the writes, and finish() ends it. Between the two, other threads of the task may
// hold further writes, and read() returns both. Only one batch is drained at a time, so that an older batch
// never overwrites a newer one. Any thread may call the functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/export.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/transfer/held_extents.hpp"

namespace sheaf::exchange {

class SHEAF_EXPORT HeldWrites {
 public:
  bool is_empty() const { return empty_; }
  int64_t count() const;  // extents that take() returns
  int64_t end() const;    // file offset past the last byte; 0: none

  // Holds the bytes of an access. Its file offsets must increase. Returns false, and holds none, if the
  // memory of the task (`held_memory` in pieces/constants) does not suffice.
  bool add(const FileAccess& access);
  // Prepares for a write of the access that does not wait: its bytes replace the held ones. If a batch that
  // is being drained may overwrite them, holds them once more.
  void replace(const FileAccess& access);
  // Removes all writes that are not being drained.
  void clear();

  // Returns all writes, which the caller then writes to the file. Returns null without such writes, or if
  // another thread drains. The batch is valid until finish().
  const HeldExtents* take();
  void finish();

  // Calls read(), which reads the access from the file and returns the bytes read from the start of its
  // stream, unless all bytes are held. Then adds held bytes. Returns the bytes read. Offsets between the end
  // of the file and held bytes read as zeros. Unless is_empty(), the extents of the access must not overlap.
  template <class Read>
  int64_t read(const FileAccess& access, Read read) const {
    if (is_empty()) return read();
    const std::shared_lock lock(mutex_);  // finish() must not remove bytes that read() misses
    return copy_to(access) == access.bytes() ? access.bytes() : complete(access, read());
  }

 private:
  int64_t copy_to(const FileAccess& access) const;
  int64_t complete(const FileAccess& access, int64_t done) const;
  int64_t last() const { return std::max(waiting_.end(), drained_ ? drained_->end() : 0); }
  void note_change() { empty_ = waiting_.is_empty() && !drained_; }

  mutable std::shared_mutex mutex_;  // guards the members below
  HeldExtents waiting_;
  std::unique_ptr<const HeldExtents> drained_;  // batch of take() until finish(); older than `waiting_`
  std::atomic<bool> empty_ = true;              // there are neither
};

}  // namespace sheaf::exchange

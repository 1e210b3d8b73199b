// storage/background/capture_memory: the memory of bytes that a program has written and that are not in the
// file yet. It is bounded for all tasks of a host together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "base/os/memory.hpp"

namespace sheaf {

// A bound that tasks of a host share by a counter in memory that they share. A task that dies leaves its part
// of the counter in use; see CaptureMemory::acquire(). Thread-safe.
class CaptureBudget : private NonCopyable {
 public:
  using Counter = std::atomic<int64_t>;
  static_assert(Counter::is_always_lock_free);

  // `used` counts the bytes in use by all tasks; the result keeps its memory alive.
  CaptureBudget(int64_t bound, std::shared_ptr<Counter> used) : bound_(bound), used_(std::move(used)) {}
  // A bound of this task alone.
  explicit CaptureBudget(int64_t bound) : CaptureBudget(bound, std::make_shared<Counter>(0)) {}

  int64_t bound() const { return bound_; }
  // Takes `bytes` if they fit below the bound.
  bool take(int64_t bytes) {
    if (used_->fetch_add(bytes, std::memory_order_relaxed) + bytes <= bound_) return true;
    give_back(bytes);
    return false;
  }
  void take_regardless(int64_t bytes) { used_->fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(int64_t bytes) { used_->fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const int64_t bound_;
  const std::shared_ptr<Counter> used_;
};

// One allocation, background_constants::piece bytes, which are used in order.
struct CapturePiece {
  explicit CapturePiece(size_t bytes) : memory(bytes) {}

  PageMemory memory;
  std::shared_ptr<CaptureBudget> budget = {};  // charged with the bytes of the piece
  size_t filled = 0;                           // bytes

  std::span<std::byte> rest() const { return memory.bytes().subspan(filled); }
};

// The pieces of one process. It keeps released pieces, whose pages are allocated, for later captures. Must
// outlive the pieces. Thread-safe.
class CaptureMemory : private NonCopyable {
 public:
  // Returns an empty piece that is charged to `budget` until its last reference is gone. Returns null if the
  // budget is exhausted, unless no piece of this process is in use: so every process makes progress, whatever
  // others hold. Throws std::bad_alloc.
  std::shared_ptr<CapturePiece> acquire(const std::shared_ptr<CaptureBudget>& budget);

  int64_t in_use() const;     // bytes
  int64_t allocated() const;  // bytes, free ones included

 private:
  void release(CapturePiece* piece) noexcept;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CapturePiece>> free_;  // has capacity for all pieces
  int64_t in_use_ = 0;                               // pieces
};

}  // namespace sheaf

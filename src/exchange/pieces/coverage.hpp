// exchange/pieces/coverage: whether the pieces of all tasks fill a range, and where they leave gaps.
//
// A piece adds hash(end) - hash(begin). The sum over the pieces of all tasks equals hash(high) - hash(low) if
// they tile [low, high) exactly once, since all boundaries inside cancel; and, but for a chance of 2^-64,
// only then. So one number per task, in any order, tells it, where lists would have to be sorted.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "exchange/pieces/access.hpp"

namespace sheaf::exchange {

// Of the bytes [from, to) of the stream.
uint64_t coverage(const ViewAccess& access, int64_t from, int64_t to);
// Of one piece [low, high).
uint64_t coverage_of_range(int64_t low, int64_t high);

// One bit per byte of a window, set by several tasks at once.
class CoverageMap {
 public:
  // For `bytes` bytes; `words`: zero, bytes / 64 rounded up.
  static size_t words_for(int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64); }
  explicit CoverageMap(std::span<std::atomic<uint64_t>> words) : words_(words) {}

  void set(int64_t begin, int64_t end) const;
  // The bytes [from, to) of the stream, in a window that begins at `window_offset` of the file.
  void set(const ViewAccess& access, int64_t from, int64_t to, int64_t window_offset) const;
  // First byte >= begin that is (not) set, at most `end`.
  int64_t next_set(int64_t begin, int64_t end) const { return find(begin, end, 0); }
  int64_t next_clear(int64_t begin, int64_t end) const { return find(begin, end, ~uint64_t{0}); }
  // use(begin, end) for the runs of bytes below `end` that are set, in order.
  template <class Use>
  void for_each_run(int64_t end, Use use) const {
    for (int64_t from = next_set(0, end); from < end;) {
      const int64_t to = next_clear(from, end);
      use(from, to);
      from = next_set(to, end);
    }
  }
  void clear() const {
    for (std::atomic<uint64_t>& word : words_) word.store(0, std::memory_order_relaxed);
  }

 private:
  int64_t find(int64_t begin, int64_t end, uint64_t flip) const;

  std::span<std::atomic<uint64_t>> words_;
};

}  // namespace sheaf::exchange

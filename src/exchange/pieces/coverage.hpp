// exchange/pieces/coverage: determines whether the extents of all tasks fill a range, and where they leave
// gaps.
//
// Each extent contributes hash(end) - hash(begin). If the extents of all tasks tile [low, high) exactly once,
// all inner boundaries cancel and the sum equals hash(high) - hash(low). If they do not, the sum differs,
// except with probability 2^-64. Adding one number per task, in any order, thus replaces sorting a list of
// all extents.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "exchange/pieces/access.hpp"

namespace sheaf::exchange {

// Returns the contribution of stream bytes [from, to).
uint64_t coverage(const FileAccess& access, int64_t from, int64_t to);
// Returns the contribution of one extent [low, high).
uint64_t coverage_of_range(int64_t low, int64_t high);

// Bitmap with one bit per byte of a window, and above it one bit per word that is not zero. So a host that
// has few bytes in a long window does not look at the whole map. Several tasks may set bits at once.
class CoverageMap {
 public:
  // Returns the number of words for a map of `bytes` bytes: bytes / 64, rounded up, and 1/64 of that. The
  // words of a new map must be zero.
  static size_t words_for(int64_t bytes) {
    const auto words = static_cast<size_t>((bytes + 63) / 64);
    return words + (words + 63) / 64;
  }
  // `words`: as many as words_for() returned.
  explicit CoverageMap(std::span<std::atomic<uint64_t>> words)
      : words_(words.first(words.size() * 64 / 65)), used_(words.subspan(words_.size())) {}

  void set(int64_t begin, int64_t end) const;
  // Sets the bits of stream bytes [from, to) in a window that begins at file offset `window_offset`.
  void set(const FileAccess& access, int64_t from, int64_t to, int64_t window_offset) const;
  // Return the first set, or clear, byte in [begin, end); `end` if there is none.
  int64_t next_set(int64_t begin, int64_t end) const;
  int64_t next_clear(int64_t begin, int64_t end) const;
  // Calls use(begin, end) for each run of set bytes below `end`, in order.
  template <class Use>
  void for_each_run(int64_t end, Use use) const {
    for (int64_t from = next_set(0, end); from < end;) {
      const int64_t to = next_clear(from, end);
      use(from, to);
      from = next_set(to, end);
    }
  }
  void clear() const;

 private:
  size_t next_used(size_t word) const;

  std::span<std::atomic<uint64_t>> words_;
  std::span<std::atomic<uint64_t>> used_;  // a bit per word that may have set bits
};

}  // namespace sheaf::exchange

// exchange/windows: the range of a collective transfer cut into windows, and the order in which they are worked on.
//
// Every aggregator has a file domain, a run of consecutive windows; windows begin and end on multiples of the window size,
// which is one of the block size, so that no block is touched by two requests (Blue Gene/L paper, section 3.4). In round r
// come the r-th windows of all domains.
#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::exchange {

struct Windows {
  int64_t low = 0;   // range of the transfer
  int64_t high = 0;
  int64_t first = 0;  // where window 0 begins, <= low
  int64_t size = 0;   // bytes of a window

  // `aligned`: windows begin on multiples of their size, else at `low`. low < high, size > 0.
  static Windows over(int64_t low, int64_t high, int64_t size, bool aligned);

  int64_t count() const { return (high - first - 1) / size + 1; }
  int64_t begin(int64_t window) const { return window == 0 ? low : first + window * size; }
  int64_t end(int64_t window) const { return window == count() - 1 ? high : first + (window + 1) * size; }
  int64_t at(int64_t offset) const { return (offset - first) / size; }
};

// The numbers of `count` windows in the order of the rounds of `domains` domains of nearly equal size.
std::vector<uint32_t> in_rounds_of(int64_t count, int64_t domains);

}  // namespace sheaf::exchange

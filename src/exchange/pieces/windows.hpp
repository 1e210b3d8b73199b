// exchange/pieces/windows: cuts the range of a collective transfer into windows and assigns an aggregator to
// each window.
//
// Windows begin and end on multiples of their size, so that no two requests touch one block (Blue Gene/L
// paper, section 3.4). A unit is one or more windows. Units are assigned to the aggregators round-robin, the
// same way in every call: unit u of the file belongs to aggregator u mod aggregators. Windows are processed
// in rounds of one window per aggregator.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"

namespace sheaf::exchange {

struct Windows {
  int64_t low = 0;  // range of the transfer
  int64_t high = 0;
  int64_t size = 1;  // bytes of a window
  int64_t per_unit = 1;
  int64_t aggregators = 1;
  int64_t first = 0;  // start of the first row of units (one per aggregator); <= low

  // Requires 0 <= low < high and size > 0. The larger of `unit` and `size` must be a multiple of the other.
  static Windows over(int64_t low, int64_t high, int64_t size, int64_t unit = 0, int64_t aggregators = 1) {
    SHEAF_ASSERT(low >= 0 && low < high && size > 0 && aggregators > 0);
    SHEAF_ASSERT(unit <= 0 || unit % size == 0 || size % unit == 0);
    Windows windows{low, high, size, std::max<int64_t>(unit / size, 1), aggregators};
    windows.first = low - low % windows.row_bytes();
    return windows;
  }

  int64_t row() const { return per_unit * aggregators; }  // windows
  // Windows are numbered in processing order; `place` is their index in file order. Windows outside the range
  // are empty.
  int64_t count() const {
    return row() == 1 ? (high - first - 1) / size + 1 : ((high - first - 1) / row_bytes() + 1) * row();
  }
  int64_t place(int64_t number) const {
    const int64_t in_row = number % row();
    return number - in_row + in_row % aggregators * per_unit + in_row / aggregators;
  }
  int64_t begin(int64_t place) const { return std::clamp(first + place * size, low, high); }
  int64_t end(int64_t place) const { return std::clamp(first + (place + 1) * size, low, high); }
  int64_t at(int64_t offset) const { return (offset - first) / size; }  // place
  int64_t rounds() const { return count() / aggregators; }
  // Returns true if each byte has the same aggregator in `other`.
  bool has_aggregators_of(const Windows& other) const {
    return size * per_unit == other.size * other.per_unit && aggregators == other.aggregators;
  }

 private:
  int64_t row_bytes() const { return row() * size; }
};

// Sizes of a window pool (exchange/shm_window_pool).
struct WindowPoolShape {
  int64_t window = 0;  // bytes of a slot
  int slots = 0;
};

}  // namespace sheaf::exchange

// exchange/pieces/windows: cuts the range of a collective transfer into windows and assigns an aggregator to
// each window.
//
// Windows begin and end on multiples of their size, so that no two requests touch one block (Blue Gene/L
// paper, section 3.4). A unit is one or more windows. Units are assigned to the aggregators round-robin, the
// same way in every call: unit u of the file belongs to aggregator u mod aggregators. Windows are processed
// in rounds of one window per aggregator.
//
// contiguous() makes the domains that the paper compares with: each aggregator has an equal part of the
// range, and its windows follow each other from the beginning of that part, whatever the blocks are.
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
  int64_t first = 0;            // start of the first row of units (one per aggregator); <= low
  bool are_contiguous = false;  // a single row; the unit of an aggregator is its part of the range

  // Requires 0 <= low < high and size > 0. The larger of `unit` and `size` must be a multiple of the other.
  static Windows over(int64_t low, int64_t high, int64_t size, int64_t unit = 0, int64_t aggregators = 1) {
    SHEAF_ASSERT(low >= 0 && low < high && size > 0 && aggregators > 0);
    SHEAF_ASSERT(unit <= 0 || unit % size == 0 || size % unit == 0);
    Windows windows{low, high, size, std::max<int64_t>(unit / size, 1), aggregators};
    windows.first = low - low % windows.row_bytes();
    return windows;
  }

  // Requires 0 <= low < high and size > 0.
  static Windows contiguous(int64_t low, int64_t high, int64_t size, int64_t aggregators) {
    SHEAF_ASSERT(low >= 0 && low < high && size > 0 && aggregators > 0);
    const int64_t longest = (high - low - 1) / aggregators + 1;
    return {low, high, size, (longest - 1) / size + 1, aggregators, low, true};
  }

  int64_t row() const { return per_unit * aggregators; }  // windows
  // Windows are numbered in processing order; `place` is their index in file order. Windows outside the range
  // are empty.
  int64_t count() const {
    if (are_contiguous) return row();
    return row() == 1 ? (high - first - 1) / size + 1 : ((high - first - 1) / row_bytes() + 1) * row();
  }
  int64_t place(int64_t number) const {
    const int64_t in_row = number % row();
    return number - in_row + in_row % aggregators * per_unit + in_row / aggregators;
  }
  int64_t begin(int64_t place) const {
    if (are_contiguous) return in_domain(place / per_unit, place % per_unit);
    return std::clamp(first + place * size, low, high);
  }
  int64_t end(int64_t place) const {
    if (are_contiguous) return in_domain(place / per_unit, place % per_unit + 1);
    return std::clamp(first + (place + 1) * size, low, high);
  }
  int64_t at(int64_t offset) const {  // place
    if (!are_contiguous) return (offset - first) / size;
    const int64_t shortest = (high - low) / aggregators;
    int64_t aggregator = aggregators - 1;
    if (shortest > 0) aggregator = std::min(aggregator, (offset - low) / shortest);
    while (domain(aggregator) > offset) --aggregator;
    return aggregator * per_unit + (offset - domain(aggregator)) / size;
  }
  int64_t rounds() const { return count() / aggregators; }
  // Returns true if each byte has the same aggregator in `other`.
  bool has_aggregators_of(const Windows& other) const {
    if (are_contiguous || other.are_contiguous)
      return are_contiguous == other.are_contiguous && low == other.low && high == other.high &&
             aggregators == other.aggregators;
    return size * per_unit == other.size * other.per_unit && aggregators == other.aggregators;
  }

 private:
  int64_t row_bytes() const { return row() * size; }
  // Returns the start of a contiguous domain, or the end of the range if `aggregator` is their number.
  int64_t domain(int64_t aggregator) const {
    const int64_t range = high - low;
    return low + range / aggregators * aggregator + range % aggregators * aggregator / aggregators;
  }
  int64_t in_domain(int64_t aggregator, int64_t window) const {
    return std::min(domain(aggregator) + window * size, domain(aggregator + 1));
  }
};

// Sizes of a window pool (exchange/shm_window_pool).
struct WindowPoolShape {
  int64_t window = 0;  // bytes of a slot
  int slots = 0;
};

}  // namespace sheaf::exchange

// exchange/pieces/windows: the range of a collective transfer cut into windows, and whose they are.
//
// Windows begin and end on multiples of their size, so that no block is touched by two requests (Blue Gene/L
// paper, section 3.4). Units, of one or more windows, are dealt out to the owners in turn, the same way in
// every call: unit u of the file is that of owner u mod owners. Windows are worked on in rounds, one of each
// owner.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::exchange {

struct Windows {
  int64_t low = 0;  // range of the transfer
  int64_t high = 0;
  int64_t size = 1;  // bytes of a window
  int64_t per_unit = 1;
  int64_t owners = 1;
  int64_t first = 0;  // where the first row of units begins, one of each owner; <= low

  // 0 <= low < high, size > 0; `unit`, if more than the size, is a multiple of it.
  static Windows over(int64_t low, int64_t high, int64_t size, int64_t unit = 0, int64_t owners = 1) {
    Windows windows{low, high, size, std::max<int64_t>(unit / size, 1), owners};
    windows.first = low - low % windows.row_bytes();
    return windows;
  }

  int64_t row() const { return per_unit * owners; }  // windows
  // Windows are numbered in the order of work; `place` is that in the file. Those outside the range are
  // empty.
  int64_t count() const {
    return row() == 1 ? (high - first - 1) / size + 1 : ((high - first - 1) / row_bytes() + 1) * row();
  }
  int64_t place(int64_t number) const {
    const int64_t in_row = number % row();
    return number - in_row + in_row % owners * per_unit + in_row / owners;
  }
  int64_t begin(int64_t place) const { return std::clamp(first + place * size, low, high); }
  int64_t end(int64_t place) const { return std::clamp(first + (place + 1) * size, low, high); }
  int64_t at(int64_t offset) const { return (offset - first) / size; }  // place
  int64_t rounds() const { return count() / owners; }
  // Each byte has the same owner here as there.
  bool has_owners_of(const Windows& other) const {
    return size * per_unit == other.size * other.per_unit && owners == other.owners;
  }

 private:
  int64_t row_bytes() const { return row() * size; }
};

}  // namespace sheaf::exchange

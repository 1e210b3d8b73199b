// exchange/collective_parts: what a collective transfer knows of itself (exchange/collective).
#pragma once

#include <algorithm>

#include "exchange/collective.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

// Bytes of a window, at most `size`: a short range is shared by all owners.
inline int64_t window_of_range(int64_t range, int64_t size, int64_t owners, const CollectiveOptions& how) {
  const int64_t least = std::max({short_window, how.block, how.unit}),
                grain = std::max<int64_t>({how.block, how.unit, 1});
  while (size / 2 >= least && size / 2 % grain == 0 && range / size < windows_of_an_owner * owners) size /= 2;
  return size;
}

// What all tasks know of a call; sizes and pieces of several hosts are about right, and not too small.
struct Collective::CallSummary {
  int64_t low = 0;
  int64_t high = 0;
  bool repeated = false;     // every task wants what it wanted before
  bool changed = false;      // somebody has written alone what others may not know of
  bool waits = false;        // somebody goes alone when that is published
  bool alone = false;        // a host of several has no memory for its tasks
  bool other_hosts = false;  // the rules for aggregators are others now
  int64_t threads = 1;       // that can run at once
  int64_t bytes = 0;         // of all tasks
  int64_t pieces = 1;
  int64_t lengths = 0;  // of their ranges, in whole blocks
  bool tiled = false;   // one host: pieces fill the range
  int call = 0;         // whose sums and ranges these are
};

// What this task wants in a call. Whoever reads what was written wants the same.
struct Collective::Wish {
  uint64_t filetype = 0;
  int64_t displacement = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t buffer = 0;
  int64_t block = 0;
  int64_t unit = 0;
  bool operator==(const Wish&) const = default;
};

}  // namespace sheaf::exchange

// layout/slices: processes many entries in slices, with bounded memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"

namespace sheaf::layout {

// Calls visit(begin, entries) for consecutive slices of [first, end). `entries` is a buffer for the entries
// of the slice, at most `at_once`, with unspecified contents. All slices use the same memory.
template <class Entry = int64_t, class Visit>
void for_each_slice(int64_t first, int64_t end, int64_t at_once, Visit&& visit) {
  SHEAF_ASSERT(at_once > 0);
  std::vector<Entry> room(static_cast<size_t>(std::clamp<int64_t>(end - first, 0, at_once)));
  for (; first < end; first += at_once)
    visit(first, std::span(room).first(static_cast<size_t>(std::min(at_once, end - first))));
}

}  // namespace sheaf::layout

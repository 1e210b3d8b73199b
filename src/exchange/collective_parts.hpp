// exchange/collective_parts: what a collective transfer knows of itself (exchange/collective).
#pragma once

#include <limits>
#include <optional>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "exchange/collective.hpp"
#include "exchange/staged.hpp"

namespace sheaf::exchange {

// What one task brings to the reduction of a call.
struct Collective::Part {
  Access access;  // what it has not transferred yet
  bool writes = false;
  bool large = false;  // it would have gone alone if the file were not memory
  bool places = false;  // it may write in place
  bool placed = false;  // and has, alone
  int64_t room = 0;     // left for the file
  std::optional<Error> problem = std::nullopt;

  bool works() const { return access.bytes() > 0 && !problem; }
};

// What all tasks know afterwards.
struct Collective::Facts {
  int64_t low = 0;
  int64_t high = 0;
  bool repeated = false;   // every task wants what it wanted before
  int64_t threads = 1;     // that can run at once
  int64_t bytes = 0;       // of all tasks; about, unless they share memory
  int64_t pieces = 0;
  bool tiled = false;
  bool large = false;      // that a task has
  bool places = false;     // all may
  int64_t room = 0;        // the least that a task has found
  bool some_left = false;  // the call, and go on with something else
  Stage::Sums* sums = nullptr;  // of this call, where tasks share memory
};

// What this task wanted in the last call, and what came of it if that can be used again.
struct Collective::Plan {
  bool writes = false;
  uint64_t filetype = 0;
  int64_t displacement = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t window = 0;
  int64_t aggregators = 0;
  bool by_memory = false;
  uint64_t coverage = 0;
  layout::TypeMap map;  // the file type
  Facts facts;
  Leg leg;
  bool has_leg = false;

  bool wants_the_same(const Plan& other) const {
    return writes == other.writes && filetype == other.filetype && displacement == other.displacement && from == other.from &&
           to == other.to && window == other.window && aggregators == other.aggregators && by_memory == other.by_memory;
  }
};

// Pieces from this size on are written by those who have them: a request of their own costs less than a copy more.
inline constexpr int64_t large_write = 32 << 10;

// Writes in which tasks go on as they found right in one of them, before they ask each other again.
inline constexpr int writes_not_waiting = 16;

// Tasks do not wait for each other's writes where the file has so much room left, and so many times the bytes: then none of them
// fails.
inline constexpr int64_t plenty = 1 << 30;
inline constexpr int64_t plenty_for_range = 8;

// Bytes of a window: whole blocks.
int64_t window_size(const Together& how);

// The product, or the largest number if it is larger.
inline int64_t saturated_product(int64_t a, int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace sheaf::exchange

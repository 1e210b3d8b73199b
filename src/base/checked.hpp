// base/checked: overflow-checked arithmetic for offsets and sizes in bytes. Every number from a file or a
// caller is checked here before it is used to index, allocate or seek.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf {

// Return the sum and the product, or nullopt if it does not fit into 63 bits.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Returns the smallest multiple of `unit` (> 0) that is >= x (>= 0), or nullopt if it exceeds 63 bits.
inline std::optional<int64_t> align_up(int64_t x, int64_t unit) {
  SHEAF_DEBUG_ASSERT(x >= 0 && unit > 0);
  const int64_t rest = x % unit;
  return rest == 0 ? std::optional<int64_t>(x) : checked_add(x, unit - rest);
}

// Returns a * b + c, or nullopt if it does not fit into 63 bits.
inline std::optional<int64_t> checked_mul_add(int64_t a, int64_t b, int64_t c) {
  const auto product = checked_mul(a, b);
  return product ? checked_add(*product, c) : std::nullopt;
}

// Adds two numbers >= 0 and returns INT64_MAX on overflow. Suits sums that are only displayed and sums that a
// later check rejects if they are too large.
inline int64_t saturated_add(int64_t a, int64_t b) {
  SHEAF_DEBUG_ASSERT(a >= 0 && b >= 0);
  return checked_add(a, b).value_or(INT64_MAX);
}

// Unwraps a checked result. Throws invalid_argument "<what> exceeds 2^63 bytes" for nullopt.
inline int64_t must_fit(std::optional<int64_t> value, const char* what) {
  if (!value) throw Error(Code::invalid_argument, std::string(what) + " exceeds 2^63 bytes");
  return *value;
}

}  // namespace sheaf

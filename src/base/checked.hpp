// base/checked: overflow-checked arithmetic for offsets and sizes in bytes. Every number that comes from a
// file or a caller passes through here before it is used to index, allocate or seek.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace sheaf {

// The result, or nothing if it does not fit into 63 bits.
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

// Smallest multiple of `unit` (> 0) that is >= x (>= 0); nothing if that exceeds 63 bits.
inline std::optional<int64_t> align_up(int64_t x, int64_t unit) {
  const int64_t rest = x % unit;
  return rest == 0 ? std::optional<int64_t>(x) : checked_add(x, unit - rest);
}

// a * b + c, or nothing.
inline std::optional<int64_t> checked_mul_add(int64_t a, int64_t b, int64_t c) {
  const auto product = checked_mul(a, b);
  return product ? checked_add(*product, c) : std::nullopt;
}

// The largest number if the result (of numbers >= 0) does not fit: for sums that are only shown, or that are
// refused later for being too large.
inline int64_t saturated_add(int64_t a, int64_t b) { return checked_add(a, b).value_or(INT64_MAX); }

// Unwraps a checked result; throws invalid_argument "<what> exceeds 2^63 bytes" if there is none.
inline int64_t must_fit(std::optional<int64_t> value, const char* what) {
  if (!value) throw Error(Code::invalid_argument, std::string(what) + " exceeds 2^63 bytes");
  return *value;
}

}  // namespace sheaf

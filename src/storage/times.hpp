// storage/times: conversion between system times and times of streams (nanoseconds since 1970).
#pragma once

#include <time.h>

#include <cstdint>

namespace sheaf {

inline constexpr int64_t nanoseconds_per_second = 1000000000;

// Converts a system time to the time of a stream. Clamps times before 1677 or after 2262 to the representable
// range.
inline int64_t nanoseconds(const timespec& time) noexcept {
  int64_t all = 0;
  if (__builtin_mul_overflow(int64_t{time.tv_sec}, nanoseconds_per_second, &all) ||
      __builtin_add_overflow(all, int64_t{time.tv_nsec}, &all))
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return all;
}

// Returns the present.
inline int64_t nanoseconds_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

// Converts the time of a stream to a system time. tv_nsec of the result is non-negative, also before 1970.
inline timespec time_of(int64_t nanoseconds) noexcept {
  const int64_t rest = nanoseconds % nanoseconds_per_second;
  return {nanoseconds / nanoseconds_per_second - (rest < 0), rest < 0 ? rest + nanoseconds_per_second : rest};
}

}  // namespace sheaf

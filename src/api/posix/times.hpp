// api/posix/times: from the times of the system to those of streams, nanoseconds since 1970, and back.
#pragma once

#include <time.h>

#include <cstdint>

namespace sheaf::posix {

inline constexpr int64_t in_a_second = 1000000000;

// What is too far away, before 1677 or after 2262, becomes the first or the last time there is.
inline int64_t nanoseconds(const timespec& time) noexcept {
  int64_t all = 0;
  if (__builtin_mul_overflow(int64_t{time.tv_sec}, in_a_second, &all) ||
      __builtin_add_overflow(all, int64_t{time.tv_nsec}, &all))
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return all;
}

// tv_nsec counts forward, before 1970 as well.
inline timespec time_of(int64_t nanoseconds) noexcept {
  const int64_t rest = nanoseconds % in_a_second;
  return {nanoseconds / in_a_second - (rest < 0), rest < 0 ? rest + in_a_second : rest};
}

}  // namespace sheaf::posix

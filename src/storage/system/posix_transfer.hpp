// storage/system/posix_transfer: the loop around read(2) and write(2)-like calls: interrupted calls are
// repeated, short ones continued, and no call is asked for more than Linux moves at once.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace sheaf {

// The most that one read or write of Linux transfers, in bytes (MAX_RW_COUNT).
inline constexpr size_t most_bytes_per_call = 0x7ffff000;

struct Moved {
  size_t bytes = 0;
  int error =
      0;  // errno of the call that ended the transfer, 0 if it was complete or reached the end of the file
};

// Calls `move(done, count)`, which shall transfer up to `count` bytes behind the first `done` and return what
// pread(2) returns, until `length` bytes are moved, a call moves nothing, or one fails other than by EINTR.
template <class Move>
Moved move_all(size_t length, Move move) {
  Moved moved;
  while (moved.bytes < length) {
    const ssize_t n = move(moved.bytes, std::min(length - moved.bytes, most_bytes_per_call));
    if (n > 0) {
      moved.bytes += static_cast<size_t>(n);
    } else if (n == 0) {
      break;
    } else if (errno != EINTR) {
      moved.error = errno;
      break;
    }
  }
  return moved;
}

// Repeats a call that returns a negative number, with errno EINTR, when it is interrupted.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace sheaf

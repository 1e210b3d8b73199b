// storage/system/posix_transfer: the loop around calls like read(2) and write(2). It repeats interrupted
// calls, resumes short ones, and requests no more per call than Linux moves at once.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"

namespace sheaf {

// Maximum bytes that one read or write of Linux transfers (MAX_RW_COUNT).
inline constexpr size_t max_bytes_per_call = 0x7ffff000;

struct Moved {
  size_t bytes = 0;
  // errno of the call that ended the transfer; 0 if it was complete or reached the end of the file.
  int error = 0;
};

// Calls `move(done, count)` until `length` bytes are moved, a call moves nothing, or a call fails other than
// by EINTR. `move` transfers up to `count` bytes after the first `done` and returns the result of pread(2).
template <class Move>
Moved move_all(size_t length, Move move) {
  Moved moved;
  while (moved.bytes < length) {
    const ssize_t n = move(moved.bytes, std::min(length - moved.bytes, max_bytes_per_call));
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

// Writes `data` at `offset`. Sets the error EIO if the file accepts no more bytes.
inline Moved write_all(int fd, std::span<const std::byte> data, int64_t offset) {
  Moved moved = move_all(data.size(), [&](size_t done, size_t count) {
    return ::pwrite(fd, data.data() + done, count, offset + static_cast<int64_t>(done));
  });
  if (moved.error == 0 && moved.bytes < data.size()) moved.error = EIO;
  return moved;
}

// Fills `data` from `offset`, up to the end of the file.
inline Moved read_all(int fd, std::span<std::byte> data, int64_t offset) {
  return move_all(data.size(), [&](size_t done, size_t count) {
    return ::pread(fd, data.data() + done, count, offset + static_cast<int64_t>(done));
  });
}

// Throws if a transfer has ended with `error`, an errno. `verb`: "read" or "write".
inline void require_moved(const char* verb, const std::string& path, int64_t offset, size_t length,
                          int error) {
  if (error != 0)
    throw os_error("cannot " + std::string(verb) + " " + std::to_string(length) + " bytes at offset " +
                       std::to_string(offset) + " of",
                   path, error);
}

// Repeats a call while it returns a negative number with errno EINTR.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace sheaf

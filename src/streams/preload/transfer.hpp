// streams/preload/transfer: reads and writes of captured files. Each function implements the system call of
// its name and sets errno.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

namespace sheaf::preload {

// Value of `offset` for a transfer at the current offset of the open file. The transfer advances that offset.
inline constexpr off64_t at_position = -1;

ssize_t read_captured(int fd, const iovec* parts, int n, off64_t offset) noexcept;
ssize_t write_captured(int fd, const iovec* parts, int n, off64_t offset, bool append = false) noexcept;
// Variants for offsets given by the program: they fail with EINVAL for a negative `offset`, including
// at_position.
ssize_t read_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept;
ssize_t write_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept;
off64_t seek_captured(int fd, off64_t offset, int whence) noexcept;
int truncate_captured(int fd, off64_t size) noexcept;
int allocate_captured(int fd, int mode, off64_t offset, off64_t length) noexcept;
int sync_captured(int fd) noexcept;

}  // namespace sheaf::preload

// api/posix/transfer: reading and writing captured files. Each does what the system call of its name does,
// with errno.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

namespace sheaf::posix {

// offset < 0 with `at_position`: at the offset of the open file, which moves.
inline constexpr off64_t at_position = -1;

ssize_t read_captured(int fd, const iovec* parts, int n, off64_t offset) noexcept;
ssize_t write_captured(int fd, const iovec* parts, int n, off64_t offset, bool append = false) noexcept;
// Those at an offset of the caller's, which may be nonsense.
ssize_t read_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept;
ssize_t write_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept;
off64_t seek_captured(int fd, off64_t offset, int whence) noexcept;
int truncate_captured(int fd, off64_t size) noexcept;
int allocate_captured(int fd, int mode, off64_t offset, off64_t length) noexcept;
int sync_captured(int fd) noexcept;

}  // namespace sheaf::posix

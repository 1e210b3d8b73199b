// storage/system/posix_descriptor: owner of a descriptor of the operating system.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "storage/system/posix_transfer.hpp"

namespace sheaf {

// Owns a descriptor; a negative number stands for none. The destructor closes the descriptor and preserves
// errno.
class PosixDescriptor {
 public:
  explicit PosixDescriptor(int fd = -1) : fd_(fd) {}
  ~PosixDescriptor() {
    if (fd_ < 0) return;
    const int kept = errno;
    ::close(fd_);
    errno = kept;
  }
  PosixDescriptor(PosixDescriptor&& other) noexcept : fd_(other.release()) {}
  PosixDescriptor& operator=(PosixDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  // Transfers the ownership to the caller.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Opens a name that counts from the directory `base`. New files get `mode` less umask. Returns a descriptor
// that is closed on exec, or a negative number with errno.
inline int open_at(int base, const std::string& path, int flags, mode_t mode = 0666) {
  return uninterrupted([&] { return ::openat(base, path.c_str(), flags | O_CLOEXEC, mode); });
}

// Calls fsync(2). Throws if it fails, with `path` in the message.
inline void sync_descriptor(int fd, const std::string& path) {
  if (uninterrupted([&] { return ::fsync(fd); }) != 0) throw os_error("cannot sync", path, errno);
}

}  // namespace sheaf

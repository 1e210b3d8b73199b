// storage/system/posix_descriptor: owner of a descriptor of the operating system.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "storage/system/posix_transfer.hpp"

namespace sheaf {

// Closes its descriptor on destruction and preserves errno. Negative: no descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ < 0) return;
    const int kept = errno;
    ::close(fd_);
    errno = kept;
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  // Transfers the ownership to the caller.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Opens a name that counts from the directory `base`, closed on exec; new files get `mode` less umask.
// Returns the descriptor, or a negative number with errno.
inline int open_at(int base, const std::string& path, int flags, mode_t mode = 0666) {
  return uninterrupted([&] { return ::openat(base, path.c_str(), flags | O_CLOEXEC, mode); });
}

// Throws the errors of fsync(2); `path` is for messages.
inline void sync_descriptor(int fd, const std::string& path) {
  if (uninterrupted([&] { return ::fsync(fd); }) != 0) throw os_error("cannot sync", path, errno);
}

}  // namespace sheaf

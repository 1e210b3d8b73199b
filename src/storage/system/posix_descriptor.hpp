// storage/system/posix_descriptor: owns a descriptor of the operating system.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sheaf {

// Closes it in the end and leaves errno as it was. Negative: there is none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ < 0) return;
    const int kept = errno;
    ::close(fd_);
    errno = kept;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace sheaf

// storage/posix_locks: ranges of an open file that a task has for itself, and room set aside for it.
#include <fcntl.h>

#include <cerrno>

#include "base/error.hpp"
#include "storage/posix_file.hpp"
#include "storage/posix_transfer.hpp"
#include "storage/range.hpp"

namespace sheaf {

namespace {

int lock_range(int fd, int command, short type, int64_t offset, int64_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = length;
  return uninterrupted([&] { return ::fcntl(fd, command, &range); }) == 0 ? 0 : errno;
}

}  // namespace

void PosixFile::lock(int64_t offset, int64_t length, bool exclusive) {
  require_range(path_, offset, static_cast<size_t>(length));
  locks_.lock(offset, length, true);
  const int error = lock_range(fd_, F_OFD_SETLKW, exclusive && writable_ ? F_WRLCK : F_RDLCK, offset, length);
  if (error == 0) return;
  locks_.unlock(offset, length);
  throw os_error("cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) + " of", path_, error);
}

void PosixFile::unlock(int64_t offset, int64_t length) {
  lock_range(fd_, F_OFD_SETLK, F_UNLCK, offset, length);
  locks_.unlock(offset, length);
}

void PosixFile::allocate(int64_t size) {
  require_writable(path_, writable_);
  require_range(path_, size, 0);
  if (size == 0 || uninterrupted([&] { return ::fallocate(fd_, 0, 0, size); }) == 0) return;
  if (errno != EOPNOTSUPP) throw os_error("cannot set aside " + std::to_string(size) + " bytes for", path_, errno);
  File::allocate(size);
}

}  // namespace sheaf

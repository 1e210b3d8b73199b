// storage/posix/posix_locks: ranges of an open file that a task has for itself, and room set aside for it.
#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/error.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/posix/posix_locks.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

struct flock as_flock(short type, int64_t offset, int64_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = length;
  return range;
}

}  // namespace

int try_lock_range(int fd, short type, int64_t offset, int64_t length) {
  struct flock range = as_flock(type, offset, length);
  return uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &range); }) == 0 ? 0 : errno;
}

std::optional<Bar> find_bar(int fd, short type, int64_t offset, int64_t length) {
  struct flock range = as_flock(type, offset, length);
  if (uninterrupted([&] { return ::fcntl(fd, F_OFD_GETLK, &range); }) != 0 || range.l_type == F_UNLCK)
    return std::nullopt;
  return Bar{range.l_start, range.l_len > 0 ? range.l_start + range.l_len : INT64_MAX, range.l_pid};
}

LockResult PosixFile::lock(int64_t offset, int64_t length, bool exclusive, Barred barred) {
  require_range(path_, offset, static_cast<size_t>(length));
  const auto patience = lock_patience(lockers_, length);
  const Looks looks;
  if (!locks_.lock(offset, length, true, patience))
    throw not_locked(path_, offset, length, "another thread", looks.waited());
  const auto failed = [&](const Error& error) {
    locks_.unlock(offset, length);
    return error;
  };
  const short type = exclusive && writable_ ? F_WRLCK : F_RDLCK;
  for (;; looks.rest()) {
    const int error = try_lock_range(fd_, type, offset, length);
    if (error == 0) return {};
    if (error != EAGAIN && error != EACCES)
      throw failed(os_error(
          "cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) + " of",
          path_, error));
    const auto bar = find_bar(fd_, type, offset, length);
    const bool of_program = bar && bar->of_program();
    if (of_program && barred == Barred::tell) {
      locks_.unlock(offset, length);
      return {false, bar->from, bar->to};
    }
    const auto waited = looks.waited();
    if (of_program && waited > barred_patience)
      throw failed(not_locked(path_, offset, length,
                              "process " + std::to_string(bar->pid) + ", by lockf or fcntl,", waited));
    if (waited > patience) throw failed(not_locked(path_, offset, length, "another task", waited));
  }
}

bool PosixFile::try_lock(int64_t offset, int64_t length, bool exclusive) {
  require_range(path_, offset, static_cast<size_t>(length));
  if (!locks_.try_lock(offset, length, true)) return false;
  const int error = try_lock_range(fd_, exclusive && writable_ ? F_WRLCK : F_RDLCK, offset, length);
  if (error == 0) return true;
  locks_.unlock(offset, length);
  if (error == EAGAIN || error == EACCES) return false;
  throw os_error(
      "cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) + " of", path_,
      error);
}

void PosixFile::unlock(int64_t offset, int64_t length) {
  try_lock_range(fd_, F_UNLCK, offset, length);
  locks_.unlock(offset, length);
}

void PosixFile::allocate(int64_t size) {
  require_writable(path_, writable_);
  require_range(path_, size, 0);
  if (size == 0 || uninterrupted([&] { return ::fallocate(fd_, 0, 0, size); }) == 0) return;
  if (errno != EOPNOTSUPP)
    throw os_error("cannot set aside " + std::to_string(size) + " bytes for", path_, errno);
  File::allocate(size);
}

}  // namespace sheaf

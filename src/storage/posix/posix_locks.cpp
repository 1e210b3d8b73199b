// storage/posix/posix_locks: ranges of an open file that a task has for itself.
#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/error.hpp"
#include "process/process_identity.hpp"
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

RangeLock PosixFile::lock_range(const LockRequest& wanted) {
  const auto& [offset, length, exclusive, barred, patience] = wanted;
  require_range(path_, offset, static_cast<size_t>(length));
  const bool waits = barred != Barred::refuse;
  const Looks looks;
  if (!locks_.lock(offset, length, true, waits ? patience : std::chrono::milliseconds(0))) {
    if (!waits) return {};
    throw not_locked(path_, offset, length, "another thread", looks.waited());
  }
  // The locks of an open file are those of the processes made by fork(2) too, which must not give them back.
  RangeLock lock = held_until([this, offset = offset, length = length, holder = process_number()] {
    if (process_number() == holder) try_lock_range(fd_, F_UNLCK, offset, length);
    locks_.unlock(offset, length);
  });
  const short type = exclusive && writable_ ? F_WRLCK : F_RDLCK;
  for (;; looks.rest()) {
    const int error = try_lock_range(fd_, type, offset, length);
    if (error == 0) return lock;
    if (error != EAGAIN && error != EACCES)
      throw os_error(
          "cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) + " of",
          path_, error);
    if (!waits) return {};
    const auto bar = find_bar(fd_, type, offset, length);
    const bool of_program = bar && bar->of_program();
    if (of_program && barred == Barred::tell) return {nullptr, bar->from, bar->to};
    const auto waited = looks.waited();
    if (of_program && waited > barred_patience)
      throw not_locked(path_, offset, length, "process " + std::to_string(bar->pid) + ", by lockf or fcntl,",
                       waited);
    if (waited > patience) throw not_locked(path_, offset, length, "another task", waited);
  }
}

}  // namespace sheaf

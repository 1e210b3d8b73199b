// storage/posix/posix_locks: locks of this process on ranges of an open file.
#include <fcntl.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/os/process_identity.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/posix/posix_locks.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

struct flock lock_of(short type, int64_t offset, int64_t length) {
  return {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = length, .l_pid = 0};
}

int call_lock(int fd, int command, struct flock& range) {
  return uninterrupted([&] { return ::fcntl(fd, command, &range); }) == 0 ? 0 : errno;
}

RangeLock PosixFile::lock_range(const LockRequest& wanted) {
  const auto& [offset, length, exclusive, on_conflict, timeout] = wanted;
  require_range(path_, offset, static_cast<size_t>(length));
  const bool waits = on_conflict != OnConflict::refusal;
  Backoff backoff(lock_backoff);
  if (!locks_.lock(offset, length, true, waits ? timeout : std::chrono::milliseconds(0))) {
    if (!waits) return {};
    throw not_locked(path_, offset, length, "another thread", backoff.waited());
  }
  // A child made by fork(2) shares the locks of an open file and must not release them.
  RangeLock lock = held_until([this, offset = offset, length = length, holder = process_number()] {
    struct flock range = lock_of(F_UNLCK, offset, length);
    if (process_number() == holder) call_lock(fd_.get(), F_OFD_SETLK, range);
    locks_.unlock(offset, length);
  });
  const short type = exclusive && writable_ ? F_WRLCK : F_RDLCK;
  for (;; backoff.wait()) {
    struct flock range = lock_of(type, offset, length);
    const int error = call_lock(fd_.get(), F_OFD_SETLK, range);
    if (error == 0) return lock;
    if (error != EAGAIN && error != EACCES)
      throw os_error(
          "cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) + " of",
          path_, error);
    if (!waits) return {};
    // The holder of a lock of the program is a process of this host (l_pid > 0), or a process that is not
    // visible in this container (0). The holder of a lock of this library is an open file (-1). Locks held on
    // other hosts (below -1) may be of either kind and count as locks of this library.
    const bool of_program =
        call_lock(fd_.get(), F_OFD_GETLK, range) == 0 && range.l_type != F_UNLCK && range.l_pid >= 0;
    if (of_program && on_conflict == OnConflict::report)
      return {nullptr, range.l_start, range.l_len > 0 ? range.l_start + range.l_len : INT64_MAX};
    const auto waited = backoff.waited();
    if (of_program && waited > conflict_timeout)
      throw not_locked(path_, offset, length,
                       "process " + std::to_string(range.l_pid) + ", by lockf or fcntl,", waited);
    if (waited > timeout) throw not_locked(path_, offset, length, "another task", waited);
  }
}

}  // namespace sheaf

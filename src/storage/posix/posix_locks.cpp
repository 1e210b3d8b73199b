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

namespace {

// Returns true if the program has a lock in `range`, which then becomes that lock. The holder of such a lock
// is a process of this host (l_pid > 0), or a process that is not visible in this container (0). The holder
// of a lock of this library is an open file (-1). Locks held on other hosts (below -1) may be of either kind
// and count as locks of this library.
bool finds_lock_of_program(int fd, struct flock& range) {
  return call_lock(fd, F_OFD_GETLK, range) == 0 && range.l_type != F_UNLCK && range.l_pid >= 0;
}

// Throws unless a lock has failed with `error` because another holder has locked a part of the range.
void require_conflict(const std::string& path, const LockRequest& wanted, int error) {
  if (error == EAGAIN || error == EACCES) return;
  throw os_error("cannot lock " + std::to_string(wanted.length) + " bytes at offset " +
                     std::to_string(wanted.offset) + " of",
                 path, error);
}

// Throws if a task has waited too long for a range. `program` is the lock of the program there, if any.
void require_time(const std::string& path, const LockRequest& wanted, const struct flock* program,
                  std::chrono::nanoseconds waited) {
  if (program && waited > conflict_timeout)
    throw not_locked(path, wanted.offset, wanted.length,
                     "process " + std::to_string(program->l_pid) + ", by lockf or fcntl,", waited);
  if (waited > wanted.timeout) throw not_locked(path, wanted.offset, wanted.length, "another task", waited);
}

}  // namespace

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
    require_conflict(path_, wanted, error);
    if (!waits) return {};
    const bool of_program = finds_lock_of_program(fd_.get(), range);
    if (of_program && on_conflict == OnConflict::report)
      return {nullptr, range.l_start, range.l_len > 0 ? range.l_start + range.l_len : INT64_MAX};
    require_time(path_, wanted, of_program ? &range : nullptr, backoff.waited());
  }
}

}  // namespace sheaf

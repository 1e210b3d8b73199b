#include "api/posix/locks.hpp"

#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "api/posix/errors.hpp"
#include "api/posix/names/rules.hpp"
#include "api/posix/own_descriptors.hpp"
#include "api/posix/real.hpp"
#include "capture/shared_names.hpp"

namespace sheaf::posix {

namespace {

namespace next {
constinit Real<int(int, int)> flock{"flock"};
}

// Descriptors for locks of this process as a whole; few streams are ever locked.
struct ProcessLock {
  std::atomic<uint64_t> stream{0};
  const ContainerSet* set = nullptr;
  std::atomic<int> fd{-1};
};
constexpr char ranges[] = "lock", whole[] = "flock";
constexpr size_t most_locked = 64;
constinit ProcessLock process_locks[most_locked] = {};

// kind: flock(2) has a file of its own, since opening one moves a descriptor, and a close of any gives up the
// locks that the process has by fcntl(2) there.
int open_lock_file(const OpenFile& file, const char* kind) {
  char prefix[64];
  char name[120];
  capture_prefix(rules_identity(), prefix);
  const unsigned long set = std::hash<std::string_view>()(file.set->path());
  snprintf(name, sizeof name, "%s%s.%016lx.%lx", prefix, kind, set,
           static_cast<unsigned long>(file.slot.load()->stream));
  return own_descriptor(real::open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

ProcessLock* find(const OpenFile& file) {
  const uint64_t stream = file.slot.load()->stream;
  for (ProcessLock& lock : process_locks)
    if (lock.stream.load() == stream && lock.set == file.set.get()) return &lock;
  return nullptr;
}

int process_lock_file(const OpenFile& file) {
  if (const ProcessLock* const known = find(file)) return known->fd.load();
  for (ProcessLock& lock : process_locks) {
    uint64_t free = 0;
    if (!lock.stream.compare_exchange_strong(free, ~uint64_t{0})) continue;
    lock.set = file.set.get();
    lock.fd.store(open_lock_file(file, ranges));
    lock.stream.store(lock.fd.load() >= 0 ? file.slot.load()->stream : 0);
    return lock.fd.load();
  }
  errno = ENOLCK;
  return -1;
}

template <class Call>
int outside(const Inside& inside, const Call& call) {
  const Outside waiting(inside);
  return call();
}

int own_lock_file(OpenFile& file, std::atomic<int>& kept, const char* kind) {
  int known = kept.load();
  if (known >= 0) return known;
  const int made = open_lock_file(file, kind);
  if (made >= 0 && !kept.compare_exchange_strong(known, made)) {
    close_own_descriptor(made);
    return known;
  }
  return made;
}

}  // namespace

int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range) {
  if (!range) return failed(EFAULT);
  const int mode = file.slot.load()->flags.load() & O_ACCMODE;
  const bool sets = command != F_GETLK && command != F_OFD_GETLK;
  if (sets &&
      ((range->l_type == F_RDLCK && mode == O_WRONLY) || (range->l_type == F_WRLCK && mode == O_RDONLY)))
    return failed(EBADF);
  struct flock absolute = *range;
  if (range->l_whence == SEEK_CUR) {
    absolute.l_start += file.slot.load()->offset.load();
  } else if (range->l_whence == SEEK_END) {
    if (const int error = errno_of([&] { absolute.l_start += file.stream->status().size; }))
      return failed(error);
  }
  if (range->l_whence == SEEK_CUR || range->l_whence == SEEK_END) absolute.l_whence = SEEK_SET;
  const bool by_process = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
  const int fd = by_process ? process_lock_file(file) : own_lock_file(file, file.locks, ranges);
  if (fd < 0) return -1;
  const auto lock = [&] { return real::fcntl(fd, command, reinterpret_cast<long>(&absolute)); };
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
  const int result = waits ? outside(inside, lock) : lock();
  if (result == 0 && !sets) {
    if (absolute.l_type == F_UNLCK) {
      range->l_type = F_UNLCK;
    } else {
      *range = absolute;
    }
  }
  return result;
}

int lock_whole(const Inside& inside, OpenFile& file, int operation) {
  const int fd = own_lock_file(file, file.whole_lock, whole);
  return fd < 0 ? -1 : outside(inside, [&] { return next::flock(fd, operation); });
}

void drop_process_locks(const OpenFile& file) noexcept {
  ProcessLock* const lock = find(file);
  if (!lock) return;
  const int fd = lock->fd.exchange(-1);
  lock->stream.store(0);
  if (fd >= 0) close_own_descriptor(fd);
}

}  // namespace sheaf::posix

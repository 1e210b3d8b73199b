#include "api/posix/locks.hpp"

#include <sched.h>
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

// Descriptors for locks of this process as a whole; few streams are ever locked.
struct ProcessLock {
  std::atomic<uint64_t> stream{0};
  const ContainerSet* set = nullptr;
  std::atomic<int> fd{-1};
};
constexpr size_t most_locked = 64;
constinit ProcessLock process_locks[most_locked] = {};

unsigned long number_of_set(const OpenFile& file) { return std::hash<std::string_view>()(file.set->path()); }

int open_lock_file(const OpenFile& file) {
  char prefix[64];
  char name[120];
  capture_prefix(rules_identity(), prefix);
  snprintf(name, sizeof name, "%slock.%016lx.%lx", prefix, number_of_set(file),
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
    lock.fd.store(open_lock_file(file));
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

int own_lock_file(OpenFile& file) {
  int known = file.locks.load();
  if (known >= 0) return known;
  const int made = open_lock_file(file);
  if (made >= 0 && !file.locks.compare_exchange_strong(known, made)) {
    close_own_descriptor(made);
    return known;
  }
  return made;
}

// Bytes of the file that all descriptors of captured files are open on, by which flock(2) is done.
struct Bytes {
  off64_t first, size;
};
int lock_bytes(int fd, int command, short type, const Bytes& bytes, short* found = nullptr) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = bytes.first;
  range.l_len = bytes.size;
  const int result = real::fcntl(fd, command, reinterpret_cast<long>(&range));
  if (found) *found = range.l_type;
  return result;
}

// One stream's: who tries to get a lock has `gate` for that moment.
struct WholeLockBytes {
  Bytes shared, exclusive, both, gate;
};
WholeLockBytes bytes_of(const OpenFile& file) {
  uint64_t number =
      number_of_set(file) ^ (file.slot.load()->stream * 0x9e3779b97f4a7c15);  // 2^64 / golden ratio
  number ^= number >> 32;
  const auto first = off64_t(state::first_for_locks + (number & ((uint64_t{1} << 58) - 1)) * 4);
  return {{first, 1}, {first + 1, 1}, {first, 2}, {first + 2, 1}};
}

// Gets the lock `kind`, LOCK_SH or LOCK_EX, for an open file that has none.
class WholeLock {
 public:
  WholeLock(int fd, const WholeLockBytes& bytes, int kind)
      : fd_(fd),
        bytes_(bytes),
        taken_(kind == LOCK_EX ? bytes.exclusive : bytes.shared),
        hindered_by_(kind == LOCK_EX ? bytes.both : bytes.exclusive),
        own_(state::open_for_locks()) {}
  WholeLock(const WholeLock&) = delete;
  WholeLock& operator=(const WholeLock&) = delete;
  // Unlocked first: a child forked meanwhile has this descriptor too.
  ~WholeLock() {
    if (own_ < 0) return;
    const int error = errno;
    lock_bytes(own_, F_OFD_SETLK, F_UNLCK, {bytes_.shared.first, 3});
    close_own_descriptor(own_);
    errno = error;
  }

  // 0, or -1 with errno: EWOULDBLOCK if somebody is in the way.
  int attempt() {
    if (own_ < 0 || lock_bytes(own_, F_OFD_SETLKW, F_WRLCK, bytes_.gate) != 0) return -1;
    while (lock_bytes(own_, F_OFD_SETLK, F_WRLCK, hindered_by_) != 0) {
      short found = F_UNLCK;
      if (errno != EAGAIN && errno != EACCES) return -1;
      if (lock_bytes(own_, F_OFD_GETLK, F_WRLCK, hindered_by_, &found) != 0) return -1;
      if (found == F_RDLCK) {
        lock_bytes(own_, F_OFD_SETLK, F_UNLCK, bytes_.gate);
        return failed(EWOULDBLOCK);
      }
      sched_yield();  // one that has waited lets go of it at once
    }
    lock_bytes(own_, F_OFD_SETLK, F_RDLCK, hindered_by_);
    return lock_bytes(fd_, F_OFD_SETLK, F_RDLCK, taken_);
  }

  // Returns when nobody seems to be in the way; -1 with errno.
  int wait(const Inside& inside) {
    if (outside(inside, [&] { return lock_bytes(own_, F_OFD_SETLKW, F_WRLCK, hindered_by_); }) != 0)
      return -1;
    return lock_bytes(own_, F_OFD_SETLK, F_UNLCK, hindered_by_);
  }

 private:
  const int fd_;
  const WholeLockBytes bytes_;
  const Bytes taken_, hindered_by_;
  const int own_;
};

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
  const int fd = by_process ? process_lock_file(file) : own_lock_file(file);
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

int lock_whole(const Inside& inside, int fd, OpenFile& file, int operation) {
  const int kind = operation & ~LOCK_NB;
  if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN) return failed(EINVAL);
  std::atomic<int>& whole = file.slot.load()->whole;
  if (kind == whole.load()) return 0;
  const WholeLockBytes bytes = bytes_of(file);
  whole.store(0);  // what it had goes first, as it does in the kernel
  if (lock_bytes(fd, F_OFD_SETLK, F_UNLCK, bytes.both) != 0 || kind == LOCK_UN)
    return kind == LOCK_UN ? 0 : -1;
  WholeLock lock(fd, bytes, kind);
  while (lock.attempt() != 0)
    if (errno != EWOULDBLOCK || (operation & LOCK_NB) || lock.wait(inside) != 0) return -1;
  whole.store(kind);
  return 0;
}

void drop_process_locks(const OpenFile& file) noexcept {
  ProcessLock* const lock = find(file);
  if (!lock) return;
  const int fd = lock->fd.exchange(-1);
  lock->stream.store(0);
  if (fd >= 0) close_own_descriptor(fd);
}

}  // namespace sheaf::posix

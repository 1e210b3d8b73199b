#include "streams/preload/locks.hpp"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <new>
#include <optional>
#include <sstream>
#include <string>

#include "base/extent.hpp"
#include "base/non_copyable.hpp"
#include "storage/filesystem/mounts.hpp"
#include "streams/capture/shared_names.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

// The descriptor that holds the F_SETLK locks of this process on a stream. Objects are reused, never
// deallocated.
struct ProcessLock {
  std::atomic<uint64_t> stream{0};  // 0: free
  const streams::ContainerSet* set = nullptr;
  std::atomic<int> fd{-1};
  ProcessLock* next = nullptr;
};
constexpr uint64_t being_made = ~uint64_t{0};
constinit std::atomic<ProcessLock*> process_locks{nullptr};

unsigned long number_of_set(const OpenFile& file) { return std::hash<std::string_view>()(file.set->path()); }

using LockFileName = char[120];
void name_lock_file(const OpenFile& file, LockFileName& name) {
  char prefix[64];
  streams::capture_prefix(rules_identity(), prefix);
  snprintf(name, sizeof name, "%slock.%016lx.%lx", prefix, number_of_set(file),
           static_cast<unsigned long>(file.slot.load()->stream));
}

int open_lock_file(const OpenFile& file) {
  LockFileName name;
  name_lock_file(file, name);
  return state::open_shared(name);
}

bool is_of(const ProcessLock& lock, const OpenFile& file) {
  return lock.stream.load() == file.slot.load()->stream && lock.set == file.set.get();
}

ProcessLock* find(const OpenFile& file) {
  for (ProcessLock* lock = process_locks.load(); lock; lock = lock->next)
    if (is_of(*lock, file)) return lock;
  return nullptr;
}

// Returns an object that this thread may fill in; null if memory is exhausted.
ProcessLock* take_free() {
  for (ProcessLock* lock = process_locks.load(); lock; lock = lock->next)
    if (uint64_t free = 0; lock->stream.compare_exchange_strong(free, being_made)) return lock;
  auto* const made = new (std::nothrow) ProcessLock;
  if (!made) return nullptr;
  made->stream.store(being_made);
  made->next = process_locks.load();
  while (!process_locks.compare_exchange_weak(made->next, made)) continue;
  return made;
}

int note_lock_file(ProcessLock& lock, const OpenFile& file, int fd) {
  lock.set = file.set.get();
  lock.fd.store(fd);
  lock.stream.store(fd >= 0 ? file.slot.load()->stream : 0);
  return fd;
}

int process_lock_file(const OpenFile& file) {
  if (const ProcessLock* const known = find(file)) {
    const int fd = known->fd.load();
    return fd >= 0 ? fd : failed(EBADF);
  }
  ProcessLock* const lock = take_free();
  if (!lock) return failed(ENOLCK);
  return note_lock_file(*lock, file, open_lock_file(file));
}

void drop(ProcessLock& lock) {
  const int fd = lock.fd.exchange(-1);
  lock.stream.store(0);
  if (fd >= 0) close_own_descriptor(fd);
}

// Stores the path of the file that `fd` is open on. Returns false if that file is not the lock file of a
// stream.
bool read_lock_file_name(int fd, LockFileName& path) {
  const ssize_t n = real::readlink(DescriptorPath(fd).text, path, sizeof path - 1);
  if (n > 0) path[n] = '\0';
  char prefix[64];
  streams::capture_prefix(rules_identity(), prefix);
  const size_t size = strlen(prefix);
  return n > 0 && strncmp(path, prefix, size) == 0 && strncmp(path + size, "lock.", 5) == 0;
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

// Locks on extents of the file that all captured descriptors are open on implement flock(2).
int lock_bytes(int fd, int command, short type, const Extent& bytes, short* found = nullptr) {
  struct flock range = {
      .l_type = type, .l_whence = SEEK_SET, .l_start = bytes.offset, .l_len = bytes.length, .l_pid = 0};
  if (bytes.length == 0) return 0;  // for the kernel, length 0 means up to the end of the file
  const int result = real::fcntl(fd, command, reinterpret_cast<long>(&range));
  if (found) *found = range.l_type;
  return result;
}

// The bytes that implement flock(2) for one stream. The first part has one byte per slot for shared locks,
// the second part one per slot for exclusive locks. The last byte is the gate: a process holds a lock on it
// while it acquires or releases a lock of the stream.
class WholeLockBytes {
 public:
  WholeLockBytes(const OpenFile& file, uint32_t slot) : slot_(slot) {
    // The factor is 2^64 divided by the golden ratio.
    uint64_t number = number_of_set(file) ^ (file.slot.load()->stream * 0x9e3779b97f4a7c15);
    number = (number ^ number >> 32) & ((uint64_t{1} << number_bits) - 1);
    first_ = off64_t(state::first_for_locks + (number << stream_bits));
  }
  Extent gate() const { return {first_ + 2 * slots, 1}; }
  Extent own(int kind) const { return {first_ + (kind == LOCK_EX ? slots : 0) + slot_, 1}; }
  // Returns the bytes of other slots that conflict with a lock of this kind (LOCK_SH or LOCK_EX).
  std::array<Extent, 3> in_the_way(int kind) const {
    const off64_t end = first_ + 2 * slots;
    const off64_t shared = first_ + slot_, exclusive = first_ + slots + slot_;
    if (kind == LOCK_SH) return {{{first_ + slots, slot_}, {exclusive + 1, end - exclusive - 1}, {}}};
    return {{{first_, slot_}, {shared + 1, slots - 1}, {exclusive + 1, end - exclusive - 1}}};
  }
  Extent all() const { return {first_, 2 * slots + 1}; }

 private:
  static constexpr off64_t slots = state::max_slots;
  static constexpr int stream_bits = 18, number_bits = 43;
  static_assert((off64_t{1} << stream_bits) > 2 * slots && stream_bits + number_bits < 62);
  off64_t first_;
  off64_t slot_;
};

// One call of flock(2) that changes the lock of the open file of `fd`.
class WholeLock : private NonCopyable {
 public:
  WholeLock(int fd, const WholeLockBytes& bytes, std::atomic<int>& has)
      : fd_(fd), bytes_(bytes), has_(has), own_(state::open_for_locks()) {}
  // Unlocks before it closes the descriptor: a child forked during the call shares the descriptor and would
  // keep the locks.
  ~WholeLock() {
    if (own_ < 0) return;
    const KeptErrno kept;
    lock_bytes(own_, F_OFD_SETLK, F_UNLCK, bytes_.all());
    close_own_descriptor(own_);
  }

  // Tries to acquire the lock. Returns 0, or -1 with errno; EWOULDBLOCK if another slot conflicts. Releases
  // the previous lock first, as the kernel does. Succeeds at once if a process that shares the open file has
  // already acquired the same kind of lock.
  int attempt(int kind) {
    if (own_ < 0 || lock_bytes(own_, F_OFD_SETLKW, F_WRLCK, bytes_.gate()) != 0) return -1;
    if (has_.load() == kind) return 0;
    release();
    bool free = true;
    for (const Extent& others : bytes_.in_the_way(kind)) free = free && is_free(others);
    const int result = free ? lock_bytes(fd_, F_OFD_SETLK, F_RDLCK, bytes_.own(kind)) : failed(EWOULDBLOCK);
    if (result == 0) has_.store(kind);
    const KeptErrno kept;
    lock_bytes(own_, F_OFD_SETLK, F_UNLCK, bytes_.all());
    return result;
  }

  int unlock() {
    if (own_ >= 0) lock_bytes(own_, F_OFD_SETLKW, F_WRLCK, bytes_.gate());
    return release();
  }

  // Waits until it has seen each conflicting range without locks. The caller must then call attempt() again.
  // Returns 0, or -1 with errno.
  int wait(const Inside& inside, int kind) {
    for (const Extent& others : bytes_.in_the_way(kind)) {
      const int result = outside(inside, [&] {
        int before = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);  // flock(2) is not a cancellation point
        const int got = lock_bytes(own_, F_OFD_SETLKW, F_WRLCK, others);
        pthread_setcancelstate(before, nullptr);
        return got;
      });
      if (result != 0) return -1;
      lock_bytes(own_, F_OFD_SETLK, F_UNLCK, others);
    }
    return 0;
  }

 private:
  int release() {
    has_.store(0);
    const int exclusive = lock_bytes(fd_, F_OFD_SETLK, F_UNLCK, bytes_.own(LOCK_EX));
    return lock_bytes(fd_, F_OFD_SETLK, F_UNLCK, bytes_.own(LOCK_SH)) == 0 ? exclusive : -1;
  }

  // Returns whether no other slot has locked these bytes. A read lock belongs to a holder. A write lock
  // belongs to a process in wait() or is_free(), and is released at once, so this function retries.
  bool is_free(const Extent& others) const {
    while (lock_bytes(own_, F_OFD_SETLK, F_WRLCK, others) != 0) {
      short found = F_UNLCK;
      if (lock_bytes(own_, F_OFD_GETLK, F_WRLCK, others, &found) != 0 || found == F_RDLCK) return false;
      sched_yield();
    }
    return true;
  }

  const int fd_;
  const WholeLockBytes bytes_;
  std::atomic<int>& has_;
  const int own_;
};

}  // namespace

static bool belongs_to_process(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK;
}

// Returns whether the access mode of the file permits a lock of this type.
static bool permits_lock(const OpenFile& file, short type) {
  const int mode = file.flags() & O_ACCMODE;
  return (type != F_RDLCK || mode != O_WRONLY) && (type != F_WRLCK || mode != O_RDONLY);
}

// Makes the start of the range relative to the start of the file. Returns 0 or an errno.
static int make_absolute(const OpenFile& file, struct flock& range) {
  if (range.l_whence != SEEK_CUR && range.l_whence != SEEK_END) return 0;
  const bool from_end = range.l_whence == SEEK_END;
  range.l_whence = SEEK_SET;
  return errno_of(
      [&] { range.l_start += from_end ? file.stream->status().size : file.slot.load()->offset.load(); });
}

int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range) {
  if (!range) return failed(EFAULT);
  const bool sets = command != F_GETLK && command != F_OFD_GETLK;
  if ((file.flags() & O_PATH) || (sets && !permits_lock(file, range->l_type))) return failed(EBADF);
  struct flock absolute = *range;
  if (const int error = make_absolute(file, absolute)) return failed(error);
  const int fd = belongs_to_process(command) ? process_lock_file(file) : own_lock_file(file);
  if (fd < 0) return -1;
  const auto lock = [&] { return real::fcntl(fd, command, reinterpret_cast<long>(&absolute)); };
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
  const int result = waits ? outside(inside, lock) : lock();
  if (result != 0 || sets) return result;
  if (absolute.l_type == F_UNLCK)
    range->l_type = F_UNLCK;
  else
    *range = absolute;
  return 0;
}

int lock_whole(const Inside& inside, int fd, OpenFile& file, int operation) {
  const int kind = operation & ~LOCK_NB;
  if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN) return failed(EINVAL);
  Slot& slot = *file.slot.load();
  if (slot.flags.load() & O_PATH) return failed(EBADF);
  if (kind == slot.whole.load()) return 0;
  WholeLock lock(fd, {file, state::slot_number(fd)}, slot.whole);
  if (kind == LOCK_UN) return lock.unlock();
  while (lock.attempt(kind) != 0)
    if (errno != EWOULDBLOCK || (operation & LOCK_NB) || lock.wait(inside, kind) != 0) return -1;
  return 0;
}

// Parses a lock that the kernel lists for the process, as "lock:\t1: POSIX  ADVISORY  WRITE PID DEVICE BEGIN
// LAST". Returns nothing for other lines and for blocked lock requests.
static std::optional<struct flock> listed_lock(const std::string& line) {
  char type[8], last[24];
  long long begin = 0;
  if (sscanf(line.c_str(), "lock: %*d: POSIX %*s %7s %*d %*s %lld %23s", type, &begin, last) != 3)
    return std::nullopt;
  return {{.l_type = short(strcmp(type, "WRITE") == 0 ? F_WRLCK : F_RDLCK),
           .l_whence = SEEK_SET,
           .l_start = begin,
           .l_len = strcmp(last, "EOF") == 0 ? 0 : strtoll(last, nullptr, 10) - begin + 1,
           .l_pid = 0}};
}

std::vector<struct flock> process_locks_of(const OpenFile& file) {
  std::vector<struct flock> found;
  const ProcessLock* const lock = find(file);
  if (!lock) return found;
  std::istringstream lines(contents_of("/proc/self/fdinfo/" + std::to_string(lock->fd.load())));
  for (std::string line; std::getline(lines, line);)
    if (const auto one = listed_lock(line)) found.push_back(*one);
  return found;
}

void keep_process_locks() noexcept {
  for (ProcessLock* lock = process_locks.load(); lock; lock = lock->next)
    if (const int fd = lock->fd.load(); fd >= 0) real::fcntl(fd, F_SETFD, 0);
  each_captured([](int fd, const OpenFile& file) {
    const ProcessLock* const lock = find(file);
    if (lock && (real::fcntl(fd, F_GETFD, 0) & FD_CLOEXEC)) real::fcntl(lock->fd, F_SETFD, FD_CLOEXEC);
  });
}

void adopt_process_locks(std::span<const int> inherited) noexcept {
  for (const int fd : inherited) {
    LockFileName path;
    if (!read_lock_file_name(fd, path)) continue;
    const OpenFile* locked = nullptr;
    each_captured([&](int, const OpenFile& file) {
      LockFileName name;
      name_lock_file(file, name);
      if (strcmp(name, path) == 0) locked = &file;
    });
    ProcessLock* const lock = locked && !find(*locked) ? take_free() : nullptr;
    if (!lock) {
      real::close(fd);
      continue;
    }
    real::fcntl(fd, F_SETFD, FD_CLOEXEC);
    keep_as_own_descriptor(fd);
    note_lock_file(*lock, *locked, fd);
  }
}

void forget_process_locks() noexcept {
  for (ProcessLock* lock = process_locks.load(); lock; lock = lock->next) drop(*lock);
}

// Closes the lock file only when the process has no other descriptor of the stream, because another thread
// may be about to lock the stream through such a descriptor.
void drop_process_locks(const OpenFile& file) noexcept {
  ProcessLock* const lock = find(file);
  if (!lock) return;
  struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
  real::fcntl(lock->fd.load(), F_SETLK, reinterpret_cast<long>(&all));
  bool open = false;
  each_captured([&](int, const OpenFile& other) { open = open || is_of(*lock, other); });
  if (!open) drop(*lock);
}

}  // namespace sheaf::preload

// streams/preload/entries/descriptor: the entry points of close, the dup family, fcntl, close_range and
// locks.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/duplicates.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/locks.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/standard_streams.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(unsigned, unsigned, int)> close_range{"close_range"};
}  // namespace next

constexpr int lock_commands[] = {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
constexpr int settable = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK;

// Drops a descriptor of `before`, and releases the process locks on that file, as POSIX requires. Returns 0
// or an errno.
int forget(OpenFile* before) {
  if (before && before != &own_mark) drop_process_locks(*before);
  return let_go(before);
}
int forget(int fd) { return forget(exchange(fd, nullptr)); }

int close_captured(int fd) {
  const Inside inside;
  if (is_own_descriptor(fd)) return failed(EBADF);
  if (borrows_memory()) return real::close(fd);
  const int error = forget(fd);
  const int closed = real::close(fd);
  return error != 0 ? failed(error) : closed;
}

// Registers `made`, a new duplicate of a descriptor of `file`, and returns `made`. Does nothing if `made` is
// -1.
int installed(int made, const Use& file) {
  if (made >= 0 && !borrows_memory()) install(made, &*file);
  return made;
}

int replace(int fd, int wanted, int flags, bool plain) {
  const Inside inside;
  const bool borrowed = borrows_memory();
  if (is_own_descriptor(wanted) || is_own_descriptor(fd)) return failed(EBADF);
  const auto duplicate = [&] { return plain ? real::dup2(fd, wanted) : real::dup3(fd, wanted, flags); };
  if (fd == wanted || borrowed || static_cast<unsigned>(wanted) >= max_descriptors) return duplicate();
  const Use file(fd);
  if (!file) {
    const int done = duplicate();
    if (done >= 0) forget(wanted);
    return done;
  }
  OpenFile* const before = exchange(wanted, &*file);
  const int done = duplicate();
  if (done < 0) {
    const int error = errno;
    put_back(wanted, &*file, before);
    return failed(error);
  }
  forget(before);
  return done;
}

// Calls replace(), then updates the standard stream of the C library if the new descriptor is 0, 1 or 2.
int replace_shown(int fd, int wanted, int flags, bool plain) {
  return shown_standard_stream(replace(fd, wanted, flags, plain));
}

int control(int fd, int command, long argument) {
  const Use file(fd);
  if (!file) return failed(EBADF);
  if (std::ranges::find(lock_commands, command) != std::end(lock_commands))
    return lock_range(file.inside(), *file, command, reinterpret_cast<struct flock*>(argument));
  std::atomic<int>& flags = file->slot.load()->flags;
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return installed(real::fcntl(fd, command, argument), file);
    case F_GETFL:
      return flags.load() | (real::fcntl(fd, F_GETFL, 0) & ~(O_ACCMODE | O_NOFOLLOW | settable));
    case F_SETFL:
      if (flags.load() & O_PATH) return failed(EBADF);
      flags.store((flags.load() & ~settable) | (int(argument) & settable));
      return 0;
    case F_SETLEASE:  // a lease would apply to the empty file that all captured descriptors share
      return failed(EAGAIN);
    case F_GETLEASE:
      return F_UNLCK;
    case F_ADD_SEALS:
    case F_GET_SEALS:
      return failed(EINVAL);
    default:
      return real::fcntl(fd, command, argument);
  }
}

int lock_section(int fd, int command, off64_t length) {
  if (command != F_ULOCK && command != F_LOCK && command != F_TLOCK && command != F_TEST)
    return failed(EINVAL);
  struct flock range = {.l_type = short(command == F_ULOCK ? F_UNLCK : F_WRLCK),
                        .l_whence = SEEK_CUR,
                        .l_start = 0,
                        .l_len = length,
                        .l_pid = 0};
  if (command != F_TEST)
    return control(fd, command == F_LOCK ? F_SETLKW : F_SETLK, reinterpret_cast<long>(&range));
  if (control(fd, F_GETLK, reinterpret_cast<long>(&range)) != 0) return -1;
  return range.l_type == F_UNLCK ? 0 : failed(EACCES);
}

// Returns whether `fd` is at most `last` and may be in the table of descriptors.
bool is_listed(unsigned fd, unsigned last) {
  return fd <= last && fd < max_descriptors && int(fd) <= highest_descriptor();
}

// Implements close_range(2). Skips descriptors of the library.
int close_between(unsigned first, unsigned last, int flags) {
  if (first > last) return failed(EINVAL);
  const Inside inside;
  if (flags & CLOSE_RANGE_CLOEXEC) return next::close_range(first, last, flags);
  if (!borrows_memory())
    for (unsigned fd = first; is_listed(fd, last); ++fd)
      if (descriptor_table[fd].load() && !is_own_descriptor(int(fd))) forget(int(fd));
  for (unsigned own = first; is_listed(own, last); ++own) {
    if (!is_own_descriptor(int(own))) continue;
    if (own > first && next::close_range(first, own - 1, flags) != 0) return -1;
    first = own + 1;
    if (own == last) return 0;
  }
  return next::close_range(first, last, flags);
}

}  // namespace

int duplicate_captured(int fd, int flags) {
  return shown_standard_stream(control(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
}

int close_descriptor(int fd) {
  if (is_captured(fd)) return close_captured(fd);
  if (!is_own_descriptor(fd)) return real::close(fd);
  close_own_descriptor(fd);  // reached from the containers, which close one of their own files
  return 0;
}

void forget_captured(int fd) {
  const Inside inside;
  if (!is_own_descriptor(fd) && !borrows_memory()) forget(fd);
}

SHEAF_ENTRY_AND(int, close, __close, int fd) {
  return is_captured_point(fd) ? close_captured(fd) : close_descriptor(fd);
}
SHEAF_REPLACED(int, dup, int fd) {
  return is_captured(fd) ? duplicate_captured(fd, 0) : new_descriptor(next::dup(fd));
}
SHEAF_ENTRY_AND(int, dup2, __dup2, int fd, int wanted) {
  return is_captured(fd) || is_captured(wanted) ? replace_shown(fd, wanted, 0, true) : real::dup2(fd, wanted);
}
SHEAF_ENTRY(int, dup3, int fd, int wanted, int flags) {
  return is_captured(fd) || is_captured(wanted) ? replace_shown(fd, wanted, flags, false)
                                                : real::dup3(fd, wanted, flags);
}
SHEAF_ENTRY_AND(int, fcntl, fcntl64, int fd, int command, long argument) {
  if (!is_captured(fd)) {
    const int result = real::fcntl(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return new_descriptor(result);
    return command == F_GETFL && result >= 0 ? result & ~O_NOFOLLOW : result;  // see entries/open.cpp
  }
  const int result = control(fd, command, argument);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? shown_standard_stream(result) : result;
}
SHEAF_ALSO(fcntl, __fcntl);
SHEAF_REPLACED(int, flock, int fd, int operation) {
  if (!is_captured(fd)) return next::flock(fd, operation);
  const Use file(fd);
  return file ? lock_whole(file.inside(), fd, *file, operation) : failed(EBADF);
}
SHEAF_REPLACED_AND(int, lockf, lockf64, int fd, int command, off64_t length) {
  return is_captured(fd) ? lock_section(fd, command, length) : next::lockf(fd, command, length);
}
SHEAF_ENTRY(int, close_range, unsigned first, unsigned last, int flags) {
  return highest_descriptor() < 0 || is_inside() ? next::close_range(first, last, flags)
                                                 : close_between(first, last, flags);
}
SHEAF_ENTRY(void, closefrom, int first) { sheaf_posix_close_range(first < 0 ? 0 : unsigned(first), ~0U, 0); }

}  // namespace sheaf::preload

// streams/preload/entries/attributes: permissions, owners, times and extended attributes of captured files. A
// set stores neither owners nor access times: the owner is that of the process, and the access time is the
// time of the last change. Extended attributes are not supported.
#include <fcntl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "storage/times.hpp"
#include "streams/preload/descriptors.hpp"
#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

using streams::StreamAttributes;

namespace {

int change(const Place& place, const StreamAttributes& attributes) {
  bool there = false;
  const int error = errno_of([&] {
    if (const auto set = set_at(place.match.set, place.view()))
      there = set->set(place.match.name, attributes);
  });
  if (error != 0) return failed(error);
  return there ? 0 : hand_on;
}

// Changes the attributes of the open file `fd`. Returns 0, or -1 with errno. Fails with EBADF if `fd` was
// opened with O_PATH and `named` is false. `named` is true if the program has passed a name for `fd`, such as
// /proc/self/fd/N, or AT_EMPTY_PATH.
int change_open(int fd, const StreamAttributes& attributes, bool named = false) {
  const Use file(fd);
  if (!file || (!named && (file->flags() & O_PATH))) return failed(EBADF);
  return result_of(errno_of([&] { file->stream->set(attributes); }));
}

template <class Library>
int change_name(int at, const char* path, bool follow, const StreamAttributes& attributes,
                const Library& library) {
  return on_name(
      at, path, follow, [&](int fd) { return change_open(fd, attributes, true); },
      [&](const Place& place) {
        const Inside inside;
        return change(place, attributes);
      },
      library);
}

template <class Library>
int change_mode(int at, const char* path, bool follow, mode_t mode, const Library& library) {
  return change_name(at, path, follow, {.mode = mode & 07777, .modified = {}}, library);
}

// Implements chown(2). Succeeds only if the owner and the group stay the same, because sets store neither.
int own(uid_t user, gid_t group) {
  const bool same = (user == uid_t(-1) || user == geteuid()) && (group == gid_t(-1) || group == getegid());
  return same ? 0 : failed(EPERM);
}

template <class Library>
int own_name(int at, const char* path, bool follow, uid_t user, gid_t group, const Library& library) {
  return on_name(
      at, path, follow, [&](int) { return own(user, group); },
      [&](const Place& place) { return is_there(place) ? own(user, group) : hand_on; }, library);
}

bool good_time(const timespec& time) {
  return time.tv_nsec == UTIME_NOW || time.tv_nsec == UTIME_OMIT ||
         (time.tv_nsec >= 0 && time.tv_nsec < nanoseconds_per_second);
}

// Sets attributes.modified to times[1] unless that is UTIME_OMIT; null `times` mean now. The access time
// times[0] is only validated. Returns false with errno if a time is invalid.
bool times_of(const timespec* times, StreamAttributes& attributes) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (times && (!good_time(times[0]) || !good_time(times[1]))) {
    errno = EINVAL;
    return false;
  }
  const timespec wanted = times && times[1].tv_nsec != UTIME_NOW ? times[1] : now;
  if (wanted.tv_nsec != UTIME_OMIT) attributes.modified = nanoseconds(wanted);
  return true;
}

template <class Library>
int set_times_name(int at, const char* path, bool follow, const timespec* times, const Library& library) {
  StreamAttributes attributes;
  return times_of(times, attributes) ? change_name(at, path, follow, attributes, library) : library();
}

int set_times_open(int fd, const timespec* times, bool named = false) {
  StreamAttributes attributes;
  return times_of(times, attributes) ? change_open(fd, attributes, named) : -1;
}

struct Times {
  timespec both[2];
  explicit Times(const timeval* from) {
    for (int i = 0; from && i < 2; ++i) both[i] = {from[i].tv_sec, from[i].tv_usec * 1000};
  }
  const timespec* given(const void* from) const { return from ? both : nullptr; }
};

template <class Library>
int set_times_old(int at, const char* path, bool follow, const timeval* times, const Library& library) {
  return set_times_name(at, path, follow, Times(times).given(times), library);
}

}  // namespace

SHEAF_REPLACED(int, chmod, const char* path, mode_t mode) {
  return change_mode(AT_FDCWD, path, true, mode, next::chmod.with(path, mode));
}
SHEAF_REPLACED(int, lchmod, const char* path, mode_t mode) {
  return change_mode(AT_FDCWD, path, false, mode, next::lchmod.with(path, mode));
}
SHEAF_REPLACED(int, fchmod, int fd, mode_t mode) {
  return is_captured(fd) ? change_open(fd, {.mode = mode & 07777, .modified = {}}) : next::fchmod(fd, mode);
}
SHEAF_REPLACED(int, fchmodat, int at, const char* path, mode_t mode, int flags) {
  if (is_captured_itself(at, path, flags))
    return change_open(at, {.mode = mode & 07777, .modified = {}}, true);
  return change_mode(at, path, !(flags & AT_SYMLINK_NOFOLLOW), mode,
                     next::fchmodat.with(at, path, mode, flags));
}
SHEAF_REPLACED(int, chown, const char* path, uid_t user, gid_t group) {
  return own_name(AT_FDCWD, path, true, user, group, next::chown.with(path, user, group));
}
SHEAF_REPLACED(int, lchown, const char* path, uid_t user, gid_t group) {
  return own_name(AT_FDCWD, path, false, user, group, next::lchown.with(path, user, group));
}
SHEAF_REPLACED(int, fchown, int fd, uid_t user, gid_t group) {
  if (!is_captured(fd)) return next::fchown(fd, user, group);
  return is_usable(fd) ? own(user, group) : failed(EBADF);
}
SHEAF_REPLACED(int, fchownat, int at, const char* path, uid_t user, gid_t group, int flags) {
  if (is_captured_itself(at, path, flags)) return own(user, group);
  return own_name(at, path, !(flags & AT_SYMLINK_NOFOLLOW), user, group,
                  next::fchownat.with(at, path, user, group, flags));
}
SHEAF_REPLACED(int, utimensat, int at, const char* path, const timespec* times, int flags) {
  if (is_captured_itself(at, path, flags)) return set_times_open(at, times, true);
  if (!path && is_captured(at)) return set_times_open(at, times);
  return set_times_name(at, path, !(flags & AT_SYMLINK_NOFOLLOW), times,
                        next::utimensat.with(at, path, times, flags));
}
SHEAF_REPLACED(int, futimens, int fd, const timespec* times) {
  return is_captured(fd) ? set_times_open(fd, times) : next::futimens(fd, times);
}
SHEAF_REPLACED(int, utimes, const char* path, const timeval* times) {
  return set_times_old(AT_FDCWD, path, true, times, next::utimes.with(path, times));
}
SHEAF_REPLACED(int, lutimes, const char* path, const timeval* times) {
  return set_times_old(AT_FDCWD, path, false, times, next::lutimes.with(path, times));
}
SHEAF_REPLACED(int, futimes, int fd, const timeval* times) {
  return is_captured(fd) ? set_times_open(fd, Times(times).given(times)) : next::futimes(fd, times);
}
SHEAF_REPLACED(int, futimesat, int at, const char* path, const timeval* times) {
  return set_times_old(at, path, true, times, next::futimesat.with(at, path, times));
}
SHEAF_REPLACED(int, utime, const char* path, const utimbuf* times) {
  const timeval both[2] = {{times ? times->actime : 0, 0}, {times ? times->modtime : 0, 0}};
  return set_times_old(AT_FDCWD, path, true, times ? both : nullptr, next::utime.with(path, times));
}
SHEAF_REPLACED(mode_t, umask, mode_t mask) {
  if (!is_inside() && !borrows_memory()) note_umask(mask);
  return next::umask(mask);
}

namespace {

// Queries extended attributes of the file `path`. Captured files have none, and calls that set one fail. If
// `path` names a captured file, or with `follow` a link to one, returns `none` with errno ENODATA. Otherwise
// returns library().
template <class Library>
ssize_t ask_name(const char* path, bool follow, int none, const Library& library) {
  return on_name(
      AT_FDCWD, path, follow, [&](int) { return errno = ENODATA, none; },
      [&](const Place& place) { return is_there(place) ? (errno = ENODATA, none) : hand_on; }, library);
}

// Returns `none` with errno `error` for a query on the captured descriptor `fd`.
int ask_open(int fd, int none, int error) { return is_usable(fd) ? (errno = error, none) : failed(EBADF); }

}  // namespace

SHEAF_REPLACED(ssize_t, getxattr, const char* path, const char* name, void* value, size_t size) {
  return ask_name(path, true, -1, next::getxattr.with(path, name, value, size));
}
SHEAF_REPLACED(ssize_t, lgetxattr, const char* path, const char* name, void* value, size_t size) {
  return ask_name(path, false, -1, next::lgetxattr.with(path, name, value, size));
}
SHEAF_REPLACED(ssize_t, fgetxattr, int fd, const char* name, void* value, size_t size) {
  return is_captured(fd) ? ask_open(fd, -1, ENODATA) : next::fgetxattr(fd, name, value, size);
}
SHEAF_REPLACED(ssize_t, listxattr, const char* path, char* list, size_t size) {
  return ask_name(path, true, 0, next::listxattr.with(path, list, size));
}
SHEAF_REPLACED(ssize_t, llistxattr, const char* path, char* list, size_t size) {
  return ask_name(path, false, 0, next::llistxattr.with(path, list, size));
}
SHEAF_REPLACED(ssize_t, flistxattr, int fd, char* list, size_t size) {
  return is_captured(fd) ? ask_open(fd, 0, errno) : next::flistxattr(fd, list, size);
}
SHEAF_REPLACED(int, setxattr, const char* path, const char* name, const void* value, size_t size, int flags) {
  return is_captured_name(AT_FDCWD, path) ? failed(EOPNOTSUPP)
                                          : next::setxattr(path, name, value, size, flags);
}
SHEAF_REPLACED(int, lsetxattr, const char* path, const char* name, const void* value, size_t size,
               int flags) {
  return is_captured_name(AT_FDCWD, path) ? failed(EOPNOTSUPP)
                                          : next::lsetxattr(path, name, value, size, flags);
}
SHEAF_REPLACED(int, fsetxattr, int fd, const char* name, const void* value, size_t size, int flags) {
  return is_captured(fd) ? ask_open(fd, -1, EOPNOTSUPP) : next::fsetxattr(fd, name, value, size, flags);
}
SHEAF_REPLACED(int, removexattr, const char* path, const char* name) {
  return is_captured_name(AT_FDCWD, path) ? failed(ENODATA) : next::removexattr(path, name);
}
SHEAF_REPLACED(int, lremovexattr, const char* path, const char* name) {
  return is_captured_name(AT_FDCWD, path) ? failed(ENODATA) : next::lremovexattr(path, name);
}
SHEAF_REPLACED(int, fremovexattr, int fd, const char* name) {
  return is_captured(fd) ? ask_open(fd, -1, ENODATA) : next::fremovexattr(fd, name);
}

}  // namespace sheaf::preload

// streams/preload/entries/status: the entry points of the stat family, of access, and of calls for file
// system information.
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/links.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

using streams::StreamStatus;

namespace {

namespace next {
constinit Real<int(int, const char*, struct stat*, int)> fstatat{"fstatat64"};
constinit Real<int(const char*, int)> euidaccess{"euidaccess"};
}  // namespace next

enum class PathLookup { none, captured, error };

// Finds the captured file `path` and stores its place and status. Returns `error` with errno if the file
// exists but the call must fail.
PathLookup found_at(int at, const char* path, Place& place, std::optional<StreamStatus>& status) {
  if (!find_place(at, path, place)) return PathLookup::none;
  const Inside inside;
  status = status_at(place);
  if (!status) return PathLookup::none;
  if (place.slash) errno = ENOTDIR;
  return place.slash ? PathLookup::error : PathLookup::captured;
}

// Finds the captured file that the symbolic link `path` refers to, and stores its place and status. Called
// after the kernel has failed with an errno; returns false for any other errno than ENOENT.
bool found_behind(int at, const char* path, Place& place, std::optional<StreamStatus>& status) {
  if (errno != ENOENT || !find_behind_link(at, path, place)) return false;
  const Inside inside;
  status = status_at(place);
  return status.has_value();
}

int stat_descriptor(int fd, struct stat* found) {
  const Use file(fd);
  if (!file) return failed(EBADF);
  return result_of(errno_of([&] { fill(*found, file->stream->status(), file->slot.load()->device); }));
}

// Fills `found` if the name, or a link to be followed, refers to a captured file; otherwise calls `library`.
template <class Library>
int stat_captured(int at, const char* path, int flags, struct stat& found, bool& captured,
                  const Library& library) {
  Place place;
  std::optional<StreamStatus> status;
  captured = true;
  const PathLookup what = found_at(at, path, place, status);
  if (what == PathLookup::error) return -1;
  if (what == PathLookup::none) {
    const int result = library();
    const bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    captured = result != 0 && follow && found_behind(at, path, place, status);
    if (!captured) return follow ? result : explained(at, path, result);
  }
  const Inside inside;
  fill(found, *status, place.device);
  return 0;
}

int stat_name(int at, const char* path, struct stat* found, int flags) {
  if ((flags & AT_EMPTY_PATH) && path && !*path && is_captured(at)) return stat_descriptor(at, found);
  if (const int fd = descriptor_named(path); fd >= 0 && is_captured(fd) && !(flags & AT_SYMLINK_NOFOLLOW))
    return stat_descriptor(fd, found);
  bool captured = false;
  return stat_captured(at, path, flags, *found, captured, next::fstatat.with(at, path, found, flags));
}

void widen_status(struct statx& wide, const struct stat& narrow) {
  wide = {};
  wide.stx_mask = STATX_BASIC_STATS;
  wide.stx_blksize = uint32_t(narrow.st_blksize);
  wide.stx_nlink = uint32_t(narrow.st_nlink);
  wide.stx_uid = narrow.st_uid;
  wide.stx_gid = narrow.st_gid;
  wide.stx_mode = uint16_t(narrow.st_mode);
  wide.stx_ino = narrow.st_ino;
  wide.stx_size = uint64_t(narrow.st_size);
  wide.stx_blocks = uint64_t(narrow.st_blocks);
  const auto time = [](const timespec& from) {
    struct statx_timestamp to = {};
    to.tv_sec = from.tv_sec;
    to.tv_nsec = uint32_t(from.tv_nsec);
    return to;
  };
  wide.stx_atime = time(narrow.st_atim);
  wide.stx_mtime = time(narrow.st_mtim);
  wide.stx_ctime = time(narrow.st_ctim);
  wide.stx_dev_major = major(narrow.st_dev);
  wide.stx_dev_minor = minor(narrow.st_dev);
}

int allowed(const StreamStatus& status, bool view, int mode) {
  if (mode & ~(R_OK | W_OK | X_OK)) return failed(EINVAL);
  if (view && (mode & W_OK)) return failed(EROFS);
  return permitted(status, mode) ? 0 : failed(EACCES);
}

int access_place(const Place& place, int mode) {
  const Inside inside;
  const auto status = status_at(place);
  return status ? allowed(*status, place.view(), mode) : hand_on;
}

// Implements access(2) on a name of the captured descriptor `fd`.
int access_open(int fd, int mode) {
  const Use file(fd);
  if (!file) return failed(ENOENT);
  StreamStatus status;
  const int error = errno_of([&] { status = file->stream->status(); });
  return error == 0 ? allowed(status, file->view, mode) : failed(error);
}

template <class Library>
int access_name(int at, const char* path, bool follow, int mode, const Library& library) {
  return on_name(
      at, path, follow, [&](int fd) { return access_open(fd, mode); },
      [&](const Place& place) { return access_place(place, mode); }, library);
}

// If `path` is a captured file, stores the path of its directory in `place`, for a query about the file
// system. Returns false for other files.
bool directory_of(const char* path, Place& place) {
  std::optional<StreamStatus> status;
  if (found_at(AT_FDCWD, path, place, status) != PathLookup::captured) return false;
  place.path[place.directory().empty() ? 1 : place.directory().size()] = '\0';
  return true;
}

template <class Ask, class Result>
int ask_directory(const char* path, const Ask& ask, Result* result) {
  Place place;
  return explained(AT_FDCWD, path, ask(directory_of(path, place) ? place.path : path, result));
}

// Answers a query about the file system of the descriptor `fd`. For a captured file, calls `ask` with the
// directory of its set.
template <class Ask, class AskOpen, class Result>
int ask_set(int fd, const Ask& ask, const AskOpen& ask_open, Result* result) {
  if (!is_captured(fd)) return ask_open(fd, result);
  const Use file(fd);
  if (!file) return failed(EBADF);
  const std::string& path = file->set->path();
  return ask(path.substr(0, std::max<size_t>(path.rfind('/'), 1)).c_str(), result);
}

}  // namespace

SHEAF_ENTRY_AND(int, stat, stat64, const char* path, struct stat* found) {
  return stat_name(AT_FDCWD, path, found, 0);
}
SHEAF_ENTRY_AND(int, lstat, lstat64, const char* path, struct stat* found) {
  return stat_name(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
SHEAF_REPLACED_AND(int, fstat, fstat64, int fd, struct stat* found) {
  return is_captured(fd) ? stat_descriptor(fd, found) : next::fstat(fd, found);
}
SHEAF_ENTRY_AND(int, fstatat, fstatat64, int at, const char* path, struct stat* found, int flags) {
  return stat_name(at, path, found, flags);
}
// The following functions are called by programs built before glibc 2.33. Their first argument, a version, is
// ignored because it has only one valid value.
SHEAF_ENTRY_AND(int, __xstat, __xstat64, int, const char* path, struct stat* found) {
  return stat_name(AT_FDCWD, path, found, 0);
}
SHEAF_ENTRY_AND(int, __lxstat, __lxstat64, int, const char* path, struct stat* found) {
  return stat_name(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
SHEAF_ENTRY_AND(int, __fxstat, __fxstat64, int, int fd, struct stat* found) {
  return sheaf_posix_fstat(fd, found);
}
SHEAF_ENTRY_AND(int, __fxstatat, __fxstatat64, int, int at, const char* path, struct stat* found, int flags) {
  return stat_name(at, path, found, flags);
}
SHEAF_REPLACED(int, statx, int at, const char* path, int flags, unsigned mask, struct statx* found) {
  struct stat narrow;
  int fd = (flags & AT_EMPTY_PATH) && (!path || !*path) ? at : -1;
  if (fd < 0 && !(flags & AT_SYMLINK_NOFOLLOW)) fd = descriptor_named(path);
  bool captured = is_captured(fd);
  const int result = captured ? stat_descriptor(fd, &narrow)
                              : stat_captured(at, path, flags, narrow, captured,
                                              next::statx.with(at, path, flags, mask, found));
  if (captured && result == 0) widen_status(*found, narrow);
  return result;
}

SHEAF_REPLACED(int, access, const char* path, int mode) {
  return access_name(AT_FDCWD, path, true, mode, next::access.with(path, mode));
}
SHEAF_REPLACED(int, faccessat, int at, const char* path, int mode, int flags) {
  if (is_captured_itself(at, path, flags)) return access_open(at, mode);
  return access_name(at, path, !(flags & AT_SYMLINK_NOFOLLOW), mode,
                     next::faccessat.with(at, path, mode, flags));
}
SHEAF_ENTRY_AND(int, euidaccess, eaccess, const char* path, int mode) {
  return access_name(AT_FDCWD, path, true, mode, next::euidaccess.with(path, mode));
}

SHEAF_REPLACED_AND(int, statfs, statfs64, const char* path, struct statfs64* found) {
  return ask_directory(path, next::statfs, found);
}
SHEAF_REPLACED_AND(int, statvfs, statvfs64, const char* path, struct statvfs64* found) {
  return ask_directory(path, next::statvfs, found);
}
SHEAF_REPLACED_AND(int, fstatfs, fstatfs64, int fd, struct statfs64* found) {
  return ask_set(fd, next::statfs, next::fstatfs, found);
}
SHEAF_REPLACED_AND(int, fstatvfs, fstatvfs64, int fd, struct statvfs64* found) {
  return ask_set(fd, next::statvfs, next::fstatvfs, found);
}
SHEAF_REPLACED(long, pathconf, const char* path, int name) {
  Place place;
  return explained(AT_FDCWD, path, next::pathconf(directory_of(path, place) ? place.path : path, name));
}
SHEAF_REPLACED(long, fpathconf, int fd, int name) {
  return is_captured(fd) ? next::pathconf("/", name) : next::fpathconf(fd, name);
}

}  // namespace sheaf::preload

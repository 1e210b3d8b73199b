// streams/preload/entries/names: the entry points of calls that remove, rename and create names.
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/mappings.hpp"
#include "streams/preload/names/becoming_plain.hpp"
#include "streams/preload/names/directory_moves.hpp"
#include "streams/preload/names/links.hpp"
#include "streams/preload/names/listing.hpp"
#include "streams/preload/names/moves.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(int, const char*, int)> unlinkat{"unlinkat"};
constinit Real<int(int, const char*, int, const char*)> renameat{"renameat"};
constinit Real<int(int, const char*, int, const char*, unsigned)> renameat2{"renameat2"};
constinit Real<int(int, const char*, int, const char*, int)> linkat{"linkat"};
constinit Real<ssize_t(int, const char*, char*, size_t)> readlinkat{"readlinkat"};
constinit Real<ssize_t(const char*, char*, size_t, size_t)> readlink_chk{"__readlink_chk"};
constinit Real<ssize_t(int, const char*, char*, size_t, size_t)> readlinkat_chk{"__readlinkat_chk"};
constinit Real<char*(const char*, char*)> realpath{"realpath"};
}  // namespace next

// Removes the captured file `path`. Returns 0, -1 with errno, or hand_on if no captured file has this name.
int remove_captured(int at, const char* path) {
  Place place;
  if (!find_place(at, path, place)) return hand_on;
  if (place.slash) return is_there(place) ? failed(ENOTDIR) : hand_on;
  const Inside inside;
  if (!place.view() && !may_change_in(place)) return status_at(place) ? failed(EACCES) : hand_on;
  bool removed = false;
  const int error = errno_of([&] {
    if (const auto set = set_at(place.match.set, place.view())) removed = set->remove(place.match.name);
  });
  if (error != 0) return plain_there(place) ? hand_on : failed(error);
  return removed ? 0 : hand_on;
}

// Passes on the result of a call that may have changed the names of directories.
int changed(int result) {
  if (result == 0) forget_directories();
  return result;
}

int remove_directory(int at, const char* path) {
  if (holds_captured(at, path)) return failed(ENOTEMPTY);
  if (is_captured_name(at, path)) return failed(ENOTDIR);
  return changed(explained(at, path, next::unlinkat(at, path, AT_REMOVEDIR)));
}

// Returns the status of the directory `path`; nullopt if `path` is no directory.
std::optional<struct stat> directory_at(int at, const char* path) {
  struct stat status;
  if (fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status;
}

bool is_same(const std::optional<struct stat>& one, const std::optional<struct stat>& other) {
  return one && other && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

// Returns the errno of a rename to a name that is in use and cannot be replaced: EEXIST with
// RENAME_NOREPLACE, `exchanging` with RENAME_EXCHANGE, else `replacing`.
int errno_of_target(unsigned flags, int exchanging, int replacing) {
  return flags == RENAME_EXCHANGE ? exchanging : flags & RENAME_NOREPLACE ? EEXIST : replacing;
}

// Renames a directory with captured files. Returns 0, -1 with errno, or hand_on if the C library must perform
// the call. This is the case if neither name is a directory with captured files or a set, and if both names
// are the same.
int rename_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  const bool moves = holds_captured(from_at, from), full = holds_captured(to_at, to);
  const bool set = !moves && holds_set(from_at, from);
  if (!moves && !full && !set) return hand_on;
  const auto source = directory_at(from_at, from), target = directory_at(to_at, to);
  if ((!source && flags != RENAME_EXCHANGE) || is_same(source, target)) return hand_on;
  if (target && full) return failed(errno_of_target(flags, EINVAL, ENOTEMPTY));
  if (!source) return hand_on;
  if (set) return failed(EBUSY);
  if (!moves) return hand_on;
  if (is_captured_name(to_at, to)) return failed(errno_of_target(flags, ENOTDIR, ENOTDIR));
  return move_directory(from_at, from, to_at, to, flags);
}

// Renames a captured file. `target` is the place of `to`; null if that name is not captured.
int rename_captured(const Place& source, const Place* target, int to_at, const char* to, unsigned flags) {
  if (source.slash) return failed(ENOTDIR);
  const Inside inside;
  for (const Place* const place : {&source, target ? target : &source})
    if (!place->view() && !may_change_in(*place)) return failed(EACCES);
  return move_captured(source, target, to_at, to, flags);
}

// Returns the errno that forbids the plain file or directory `from` to replace a captured file; 0 if it is
// allowed.
int refusal_to_replace(int at, const char* from, unsigned flags) {
  if (flags & RENAME_NOREPLACE) return EEXIST;
  struct stat status;
  if (flags) return fstatat(at, from, &status, AT_SYMLINK_NOFOLLOW) == 0 ? EINVAL : errno;
  return directory_at(at, from) ? ENOTDIR : 0;
}

// Renames a plain file or directory, which may become a captured file or replace one. `target` is as for
// rename_captured().
int rename_plain(int from_at, const char* from, const Place* target, int to_at, const char* to,
                 unsigned flags) {
  if (target && target->view()) return failed(EROFS);
  if (target && !target->slash) {
    const Inside inside;
    const int result = take_in(from_at, from, *target, flags);
    if (result != hand_on) return result;
  }
  const bool replaces = target && is_there(*target);
  if (replaces)
    if (const int error = refusal_to_replace(from_at, from, flags)) return failed(error);
  const int result =
      flags ? next::renameat2(from_at, from, to_at, to, flags) : next::renameat(from_at, from, to_at, to);
  if (result == 0 && replaces) remove_captured(to_at, to);
  return changed(result);
}

int rename_any(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  Place source, target;
  const bool captured = find_place(from_at, from, source) && is_there(source);
  const Place* const wanted = find_place(to_at, to, target) ? &target : nullptr;
  if (captured) return rename_captured(source, wanted, to_at, to, flags);
  const int moved = rename_directory(from_at, from, to_at, to, flags);
  return moved != hand_on ? moved : rename_plain(from_at, from, wanted, to_at, to, flags);
}

int move(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return explained(to_at, to, explained(from_at, from, rename_any(from_at, from, to_at, to, flags)));
}

// Runs library(), a call that creates the name `path`. Fails with EEXIST if a captured file has that name.
template <class Library>
int make_name(int at, const char* path, const Library& library) {
  return is_captured_name(at, path) ? failed(EEXIST) : explained(at, path, library());
}

// Converts a captured file to a plain file before link(2), because a captured file has only one name.
int make_plain_for_link(int at, const char* path) {
  Place place;
  if (!find_place(at, path, place) || !is_there(place)) return 0;
  if (place.slash) return ENOTDIR;
  if (place.view()) return EPERM;
  const Inside inside;
  return become_plain(place, PlainFor::names);
}

int link_name(int from_at, const char* from, int to_at, const char* to, int flags) {
  if (is_captured_name(to_at, to)) return failed(EEXIST);
  if (const int error = make_plain_for_link(from_at, from)) return failed(error);
  return make_name(to_at, to,
                   [&] { return explained(from_at, from, next::linkat(from_at, from, to_at, to, flags)); });
}

ssize_t read_link(int at, const char* path, char* room, size_t size) {
  Place place;
  if (find_place(at, path, place) && is_there(place)) return failed(place.slash ? ENOTDIR : EINVAL);
  return explained(at, path, next::readlinkat(at, path, room, size));
}

char* real_path(const char* path, char* room) {
  Place place;
  if (!find_place(AT_FDCWD, path, place) || !is_there(place)) {
    char* const plain = next::realpath(path, room);
    if (plain || errno != ENOENT || !find_behind_link(AT_FDCWD, path, place)) return plain;
  } else if (place.slash) {
    return errno = ENOTDIR, nullptr;
  }
  return room ? strcpy(room, place.path) : strdup(place.path);
}

// Implements truncate(2) on a name of the captured descriptor `fd`. Unlike ftruncate(2), does not require
// that `fd` is open for writing.
int truncate_open(int fd, off64_t size) {
  const Use file(fd);
  if (!file) return failed(ENOENT);
  if (size < 0) return failed(EINVAL);
  if (file->view) return failed(EROFS);
  bool allowed = false;
  const int error = errno_of([&] {
    allowed = permitted(file->stream->status(), W_OK);
    if (allowed) stream_for_writing(*file)->truncate(size);
  });
  if (error != 0 || !allowed) return failed(error != 0 ? error : EACCES);
  file->written.store(true, std::memory_order_relaxed);
  show_in_mappings(file->set.get(), file->slot.load()->stream, size, size);
  return 0;
}

int truncate_place(const Place& place, off64_t size) {
  const Inside inside;
  const auto status = status_at(place);
  if (!status) return hand_on;
  if (size < 0) return failed(EINVAL);
  if (!permitted(*status, W_OK)) return failed(EACCES);
  return result_of(errno_of([&] {
    const auto set = set_at(place.match.set, place.view());
    set->truncate(place.match.name, size);
    show_in_mappings(set.get(), status->number, size, size);
  }));
}

}  // namespace

SHEAF_REPLACED(int, unlink, const char* path) {
  SHEAF_FIRST(remove_captured(AT_FDCWD, path), explained(AT_FDCWD, path, next::unlink(path)));
}
SHEAF_ENTRY(int, unlinkat, int at, const char* path, int flags) {
  if (flags & AT_REMOVEDIR) return remove_directory(at, path);
  if (flags != 0) return next::unlinkat(at, path, flags);  // the C library refuses the flags
  SHEAF_FIRST(remove_captured(at, path), explained(at, path, next::unlinkat(at, path, flags)));
}
SHEAF_REPLACED(int, remove, const char* path) {
  const int answer = remove_captured(AT_FDCWD, path);
  if (answer != hand_on) return answer;
  if (holds_captured(AT_FDCWD, path)) return failed(ENOTEMPTY);
  return explained(AT_FDCWD, path, next::remove(path));
}
SHEAF_ENTRY(int, rmdir, const char* path) { return remove_directory(AT_FDCWD, path); }
SHEAF_ENTRY(int, rename, const char* from, const char* to) { return move(AT_FDCWD, from, AT_FDCWD, to, 0); }
SHEAF_ENTRY(int, renameat, int from_at, const char* from, int to_at, const char* to) {
  return move(from_at, from, to_at, to, 0);
}
SHEAF_ENTRY(int, renameat2, int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return move(from_at, from, to_at, to, flags);
}
SHEAF_REPLACED_AND(int, truncate, truncate64, const char* path, off64_t size) {
  return on_name(
      AT_FDCWD, path, true, [&](int fd) { return truncate_open(fd, size); },
      [&](const Place& place) { return truncate_place(place, size); }, next::truncate.with(path, size));
}
SHEAF_ENTRY(int, link, const char* from, const char* to) {
  return link_name(AT_FDCWD, from, AT_FDCWD, to, 0);
}
SHEAF_ENTRY(int, linkat, int from_at, const char* from, int to_at, const char* to, int flags) {
  return link_name(from_at, from, to_at, to, flags);
}
SHEAF_REPLACED(int, symlinkat, const char* text, int at, const char* path) {
  return make_name(at, path, [&] { return changed(next::symlinkat(text, at, path)); });
}
SHEAF_ENTRY(int, symlink, const char* text, const char* path) {
  return make_name(AT_FDCWD, path, [&] { return changed(next::symlinkat(text, AT_FDCWD, path)); });
}
SHEAF_REPLACED(int, mkdirat, int at, const char* path, mode_t mode) {
  return make_name(at, path, next::mkdirat.with(at, path, mode));
}
SHEAF_ENTRY(int, mkdir, const char* path, mode_t mode) {
  return make_name(AT_FDCWD, path, next::mkdirat.with(AT_FDCWD, path, mode));
}
SHEAF_REPLACED(int, mkfifoat, int at, const char* path, mode_t mode) {
  return make_name(at, path, next::mkfifoat.with(at, path, mode));
}
SHEAF_ENTRY(int, mkfifo, const char* path, mode_t mode) {
  return make_name(AT_FDCWD, path, next::mkfifoat.with(AT_FDCWD, path, mode));
}
SHEAF_REPLACED(int, mknodat, int at, const char* path, mode_t mode, dev_t device) {
  return make_name(at, path, next::mknodat.with(at, path, mode, device));
}
SHEAF_ENTRY(int, mknod, const char* path, mode_t mode, dev_t device) {
  return make_name(AT_FDCWD, path, next::mknodat.with(AT_FDCWD, path, mode, device));
}
SHEAF_ENTRY(ssize_t, readlink, const char* path, char* room, size_t size) {
  return read_link(AT_FDCWD, path, room, size);
}
SHEAF_ENTRY(ssize_t, readlinkat, int at, const char* path, char* room, size_t size) {
  return read_link(at, path, room, size);
}
SHEAF_ENTRY(ssize_t, __readlink_chk, const char* path, char* room, size_t size, size_t most) {
  return size > most ? next::readlink_chk(path, room, size, most) : read_link(AT_FDCWD, path, room, size);
}
SHEAF_ENTRY(ssize_t, __readlinkat_chk, int at, const char* path, char* room, size_t size, size_t most) {
  return size > most ? next::readlinkat_chk(at, path, room, size, most) : read_link(at, path, room, size);
}
SHEAF_ENTRY(char*, realpath, const char* path, char* room) { return real_path(path, room); }
SHEAF_ENTRY(char*, __realpath_chk, const char* path, char* room, size_t) { return real_path(path, room); }
SHEAF_ENTRY(char*, canonicalize_file_name, const char* path) { return real_path(path, nullptr); }
SHEAF_REPLACED(int, chdir, const char* path) {
  if (is_captured_name(AT_FDCWD, path)) return failed(ENOTDIR);
  return explained(AT_FDCWD, path, changed(next::chdir(path)));
}
SHEAF_REPLACED(int, fchdir, int fd) { return is_captured(fd) ? failed(ENOTDIR) : changed(next::fchdir(fd)); }
SHEAF_REPLACED(int, chroot, const char* path) { return changed(next::chroot(path)); }

}  // namespace sheaf::preload

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
constinit Real<int(const char*)> unlink{"unlink"}, remove{"remove"}, chdir{"chdir"}, chroot{"chroot"};
constinit Real<int(int)> fchdir{"fchdir"};
constinit Real<int(int, const char*, int)> unlinkat{"unlinkat"};
constinit Real<int(int, const char*, int, const char*)> renameat{"renameat"};
constinit Real<int(int, const char*, int, const char*, unsigned)> renameat2{"renameat2"};
constinit Real<int(const char*, off64_t)> truncate{"truncate64"};
constinit Real<int(int, const char*, int, const char*, int)> linkat{"linkat"};
constinit Real<int(const char*, int, const char*)> symlinkat{"symlinkat"};
constinit Real<int(int, const char*, mode_t)> mkdirat{"mkdirat"}, mkfifoat{"mkfifoat"};
constinit Real<int(int, const char*, mode_t, dev_t)> mknodat{"mknodat"};
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

int remove_directory(int at, const char* path) {
  if (holds_captured(at, path)) return failed(ENOTEMPTY);
  if (is_captured_name(at, path)) return failed(ENOTDIR);
  const int result = explained(at, path, next::unlinkat(at, path, AT_REMOVEDIR));
  if (result == 0) forget_directories();
  return result;
}

bool is_plain_directory(int at, const char* path, struct stat& status) {
  return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}
bool is_plain_directory(int at, const char* path) {
  struct stat status;
  return is_plain_directory(at, path, status);
}

// Renames a directory with captured files. Returns 0, -1 with errno, or hand_on if the C library must perform
// the call. This is the case if neither name is a directory with captured files or a set, and if both names
// are the same.
int rename_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  const bool moves = holds_captured(from_at, from), full = holds_captured(to_at, to);
  const bool set = !moves && holds_set(from_at, from);
  struct stat source, target;
  if (!moves && !full && !set) return hand_on;
  const bool exchanges = flags == RENAME_EXCHANGE;
  const bool first = is_plain_directory(from_at, from, source),
             second = is_plain_directory(to_at, to, target);
  if (!first && !exchanges) return hand_on;
  if (first && second && source.st_dev == target.st_dev && source.st_ino == target.st_ino) return hand_on;
  if (second && full) return failed(exchanges ? EINVAL : flags & RENAME_NOREPLACE ? EEXIST : ENOTEMPTY);
  if (!moves || !first) return set && first ? failed(EBUSY) : hand_on;
  if (is_captured_name(to_at, to)) return failed(flags & RENAME_NOREPLACE ? EEXIST : ENOTDIR);
  return move_directory(from_at, from, to_at, to, flags);
}

int rename_any(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  Place source, target;
  const bool captured = find_place(from_at, from, source) && is_there(source);
  const bool wanted = find_place(to_at, to, target);
  if (captured) {
    if (source.slash) return failed(ENOTDIR);
    const Inside inside;
    for (const Place* const place : {&source, wanted ? &target : &source})
      if (!place->view() && !may_change_in(*place)) return failed(EACCES);
    return move_captured(source, wanted ? &target : nullptr, to_at, to, flags);
  }
  const int moved = rename_directory(from_at, from, to_at, to, flags);
  if (moved != hand_on) return moved;
  if (wanted && target.view()) return failed(EROFS);
  if (wanted && !target.slash) {
    const Inside inside;
    const int result = take_in(from_at, from, target, flags);
    if (result != hand_on) return result;
  }
  const bool replaced = wanted && is_there(target);
  if (replaced && (flags & RENAME_NOREPLACE)) return failed(EEXIST);
  struct stat status;
  if (replaced && flags)
    return fstatat(from_at, from, &status, AT_SYMLINK_NOFOLLOW) == 0 ? failed(EINVAL) : -1;
  if (replaced && is_plain_directory(from_at, from)) return failed(ENOTDIR);
  const int result =
      flags ? next::renameat2(from_at, from, to_at, to, flags) : next::renameat(from_at, from, to_at, to);
  if (result == 0 && replaced) remove_captured(to_at, to);  // the plain file has replaced it
  if (result == 0) forget_directories();
  return result;
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
  int error = 0;
  const int thrown = errno_of([&] {
    if (permitted(file->stream->status(), W_OK))
      stream_for_writing(*file)->truncate(size);
    else
      error = EACCES;
  });
  if (thrown != 0 || error != 0) return failed(thrown != 0 ? thrown : error);
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
  const int error = errno_of([&] {
    const auto set = set_at(place.match.set, place.view());
    set->truncate(place.match.name, size);
    show_in_mappings(set.get(), status->number, size, size);
  });
  return error == 0 ? 0 : failed(error);
}

int changed(int result) {
  if (result == 0) forget_directories();
  return result;
}

}  // namespace

SHEAF_ENTRY(int, unlink, const char* path) {
  SHEAF_FIRST(remove_captured(AT_FDCWD, path), explained(AT_FDCWD, path, next::unlink(path)));
}
SHEAF_ENTRY(int, unlinkat, int at, const char* path, int flags) {
  if (flags & AT_REMOVEDIR) return remove_directory(at, path);
  if (flags != 0) return next::unlinkat(at, path, flags);  // the C library refuses the flags
  SHEAF_FIRST(remove_captured(at, path), explained(at, path, next::unlinkat(at, path, flags)));
}
SHEAF_ENTRY(int, remove, const char* path) {
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
SHEAF_ENTRY_AND(int, truncate, truncate64, const char* path, off64_t size) {
  return on_name(
      AT_FDCWD, path, true, [&](int fd) { return truncate_open(fd, size); },
      [&](const Place& place) { return truncate_place(place, size); },
      [&] { return next::truncate(path, size); });
}
SHEAF_ENTRY(int, link, const char* from, const char* to) {
  return link_name(AT_FDCWD, from, AT_FDCWD, to, 0);
}
SHEAF_ENTRY(int, linkat, int from_at, const char* from, int to_at, const char* to, int flags) {
  return link_name(from_at, from, to_at, to, flags);
}
SHEAF_ENTRY(int, symlink, const char* text, const char* path) {
  return make_name(AT_FDCWD, path, [&] { return changed(next::symlinkat(text, AT_FDCWD, path)); });
}
SHEAF_ENTRY(int, symlinkat, const char* text, int at, const char* path) {
  return make_name(at, path, [&] { return changed(next::symlinkat(text, at, path)); });
}
SHEAF_ENTRY(int, mkdir, const char* path, mode_t mode) {
  return make_name(AT_FDCWD, path, [&] { return next::mkdirat(AT_FDCWD, path, mode); });
}
SHEAF_ENTRY(int, mkdirat, int at, const char* path, mode_t mode) {
  return make_name(at, path, [&] { return next::mkdirat(at, path, mode); });
}
SHEAF_ENTRY(int, mkfifo, const char* path, mode_t mode) {
  return make_name(AT_FDCWD, path, [&] { return next::mkfifoat(AT_FDCWD, path, mode); });
}
SHEAF_ENTRY(int, mkfifoat, int at, const char* path, mode_t mode) {
  return make_name(at, path, [&] { return next::mkfifoat(at, path, mode); });
}
SHEAF_ENTRY(int, mknod, const char* path, mode_t mode, dev_t device) {
  return make_name(AT_FDCWD, path, [&] { return next::mknodat(AT_FDCWD, path, mode, device); });
}
SHEAF_ENTRY(int, mknodat, int at, const char* path, mode_t mode, dev_t device) {
  return make_name(at, path, [&] { return next::mknodat(at, path, mode, device); });
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
SHEAF_ENTRY(int, chdir, const char* path) {
  if (is_captured_name(AT_FDCWD, path)) return failed(ENOTDIR);
  return explained(AT_FDCWD, path, changed(next::chdir(path)));
}
SHEAF_ENTRY(int, fchdir, int fd) { return is_captured(fd) ? failed(ENOTDIR) : changed(next::fchdir(fd)); }
SHEAF_ENTRY(int, chroot, const char* path) { return changed(next::chroot(path)); }

}  // namespace sheaf::preload

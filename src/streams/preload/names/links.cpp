#include "streams/preload/names/links.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "streams/capture/shared_names.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/following.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

constexpr int max_links = 40;  // as in Linux

constinit Real<ssize_t(int, const char*, char*, size_t)> next_readlinkat{"readlinkat"};
constinit Real<int(int, const char*, struct stat*, int)> next_fstatat{"fstatat64"};

// Follows one symbolic link: replaces `path`, relative to `at`, by the target of the link. Returns false if
// `path` is no link.
bool step(char (&path)[PATH_MAX], int& at) {
  char target[PATH_MAX];
  const ssize_t n = next_readlinkat(at, path, target, sizeof target - 1);
  if (n <= 0) return false;
  target[n] = '\0';
  if (target[0] == '/') {
    at = AT_FDCWD;
    memcpy(path, target, size_t(n) + 1);
    return true;
  }
  const char* const slash = strrchr(path, '/');
  const size_t directory = slash ? size_t(slash - path) + 1 : 0;
  if (directory + size_t(n) >= sizeof path) return false;
  memcpy(path + directory, target, size_t(n) + 1);
  return true;
}

// Returns the rest of `text` after the prefix `begin`; null if `text` is null or lacks the prefix.
const char* behind(const char* text, const char* begin) {
  const size_t n = strlen(begin);
  return text && strncmp(text, begin, n) == 0 ? text + n : nullptr;
}

// Returns the rest of `name` after the name of this process in /proc: its number, `self` or `thread-self`.
// Returns null if `name` begins otherwise.
const char* behind_this_process(const char* name) {
  if (*name >= '0' && *name <= '9') {
    char* end = nullptr;
    return strtol(name, &end, 10) == long(getpid()) ? end : nullptr;
  }
  const char* const self = behind(name, "self");
  return self ? self : behind(name, "thread-self");
}

// Returns whether `path` names a captured file or a link to one.
bool leads_to_file(int at, const char* path) {
  Place place;
  if (!find_place(at, path, place)) return find_behind_link(at, path, place);
  const Inside inside;
  return status_at(place).has_value();
}

// Returns whether the first `size` bytes of `path`, followed by a slash, name a directory.
bool is_directory(int at, char* path, size_t size) {
  const char after = path[size];
  struct stat status;
  path[size] = '\0';
  const bool there = next_fstatat(at, path, &status, 0) == 0;
  path[size] = after;
  return there;
}

// Returns whether `path` uses a captured file as a directory. Only the component after the last existing
// directory can be that file. For most names only the last component does not exist, so this check comes
// first.
__attribute__((noinline)) bool is_below_file(int at, const char* path) {
  char name[PATH_MAX];
  strcpy(name, path);
  const size_t last = size_t(last_component(name).data() - name);
  if (last == 0 || is_directory(at, name, last)) return false;
  size_t end = strspn(name, "/");
  do {
    end += strcspn(name + end, "/");
    const size_t slashes = strspn(name + end, "/");
    if (end + slashes >= last || !is_directory(at, name, end + slashes)) break;
    end += slashes;
  } while (true);
  name[end] = '\0';
  return leads_to_file(at, name);
}

}  // namespace

bool find_behind_link(int at, const char* path, Place& place, bool missing) noexcept {
  if (is_inside() || rules().empty() || strlen(path) >= PATH_MAX) return false;
  const int error = errno, at_first = at;
  char name[PATH_MAX];
  strcpy(name, path);
  bool found = false, captured = false;
  for (int i = 0; i < max_links && !found; ++i) {
    if (!step(name, at)) {
      found = missing && captured;
      break;
    }
    captured = find_place(at, name, place);
    if (!captured) continue;
    const Inside inside;
    found = status_at(place).has_value();
  }
  errno = error;
  if (!found) explain(at_first, path);
  return found;
}

void explain(int at, const char* path) noexcept {
  if (errno == ENOENT && !is_inside() && !rules().empty() && strlen(path) < PATH_MAX)
    errno = is_below_file(at, path) ? ENOTDIR : ENOENT;
}

int descriptor_named_below(const char* path) noexcept {
  const char* number = nullptr;
  if (const char* const device = behind(path, "/dev/")) {
    if (strcmp(device, "stdin") == 0) return 0;
    if (strcmp(device, "stdout") == 0) return 1;
    if (strcmp(device, "stderr") == 0) return 2;
    number = behind(device, "fd/");
  } else if (const char* const process = behind(path, "/proc/")) {
    number = behind(behind_this_process(process), "/fd/");
  }
  if (!number || *number < '0' || *number > '9') return -1;
  char* end = nullptr;
  const long fd = strtol(number, &end, 10);
  return *end == '\0' && fd < long(max_descriptors) ? int(fd) : -1;
}

namespace {

int open_file_again(OpenFile& file, int flags) {
  if ((flags & O_CREAT) && (flags & O_EXCL)) return failed(EEXIST);
  if (flags & O_DIRECTORY) return failed(ENOTDIR);
  return open_same(file, flags);
}

// Opens the file that all captured descriptors are open on, at the file position of the descriptor that
// `path` names. This position identifies the slot. Returns a descriptor, or -1 if that descriptor is not
// captured or was closed.
int same_position(const char* path) {
  char own[64], text[PATH_MAX];
  streams::capture_prefix(rules_identity(), own);
  const ssize_t n = real::readlink(path, text, sizeof text - 1);
  if (n < 0 || !behind((text[n] = '\0', text), own)) return -1;
  const char* const number = strstr(path, "/fd/");
  snprintf(text, sizeof text, "%.*s/fdinfo/%s", int(number - path), path, number + 4);
  const int facts = real::open(text, O_RDONLY | O_CLOEXEC, 0);
  const ssize_t got = facts < 0 ? -1 : real::read(facts, text, sizeof text - 1);
  if (facts >= 0) real::close(facts);
  long long at = 0;
  if (got <= 0 || sscanf((text[got] = '\0', text), "pos: %lld", &at) != 1) return -1;
  const int fd = real::open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd >= 0) real::lseek(fd, at, SEEK_SET);
  return fd;
}

// Opens the stream of a slot again. Returns a descriptor, or -1 with errno. Consumes the caller's hold on
// `slot`.
int open_slot_again(Slot* slot, int flags) {
  OpenFile* const file = make_open_file();
  if (!file) return state::release(slot), failed(ENOMEM);
  const int error = open_slot(*file, slot);
  const int fd = error == 0 ? open_file_again(*file, flags) : failed(error);
  const KeptErrno kept;
  unuse(file);
  return fd;
}

}  // namespace

int open_again(int fd, int flags) noexcept {
  const Use old(fd);
  return old ? open_file_again(*old, flags) : failed(ENOENT);
}

bool names_other_process(const char* path) noexcept {
  const char* const process = may_name_descriptor(path) ? behind(path, "/proc/") : nullptr;
  return process && *process >= '0' && *process <= '9' && strstr(process, "/fd/");
}

int open_of_other_process(const char* path, int flags) noexcept {
  const Inside inside;
  const int fd = same_position(path);
  if (fd < 0) return hand_on;
  Slot* const slot = state::adopt(fd, false);
  real::close(fd);
  return slot ? open_slot_again(slot, flags) : hand_on;
}

}  // namespace sheaf::preload

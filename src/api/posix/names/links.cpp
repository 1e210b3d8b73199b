#include "api/posix/names/links.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/posix/errors.hpp"
#include "api/posix/files.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

constexpr int most_links = 40;  // as in Linux

constinit Real<ssize_t(int, const char*, char*, size_t)> next_readlinkat{"readlinkat"};

// The captured file that a link with this text leads to, or the next link, in `path`.
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

}  // namespace

bool find_behind_link(int at, const char* path, Place& place) noexcept {
  if (is_inside() || rules().empty() || strlen(path) >= PATH_MAX) return false;
  const int error = errno;
  char name[PATH_MAX];
  strcpy(name, path);
  bool found = false;
  for (int i = 0; i < most_links && !found; ++i) {
    if (!step(name, at)) break;
    if (!find_place(at, name, place)) continue;
    const Inside inside;
    found = status_at(place).has_value();
  }
  errno = error;
  return found;
}

int descriptor_named(const char* path) noexcept {
  if (!path || path[0] != '/') return -1;
  const char* number = nullptr;
  if (strncmp(path, "/dev/", 5) == 0) {
    if (strcmp(path + 5, "stdin") == 0) return 0;
    if (strcmp(path + 5, "stdout") == 0) return 1;
    if (strcmp(path + 5, "stderr") == 0) return 2;
    if (strncmp(path + 5, "fd/", 3) == 0) number = path + 8;
  } else if (strncmp(path, "/proc/self/fd/", 14) == 0) {
    number = path + 14;
  }
  if (!number || *number < '0' || *number > '9') return -1;
  char* end = nullptr;
  const long fd = strtol(number, &end, 10);
  return *end == '\0' && fd < long(most_descriptors) ? int(fd) : -1;
}

int open_again(int fd, int flags) noexcept {
  const Inside inside;
  const Use old(fd);
  if (!old) return failed(ENOENT);
  if ((flags & O_CREAT) && (flags & O_EXCL)) return failed(EEXIST);
  if (flags & O_DIRECTORY) return failed(ENOTDIR);
  return open_same(*old, flags);
}

}  // namespace sheaf::posix

// streams/preload/names/links: names that refer to captured files through the file system: symbolic links,
// which are dangling for the kernel, and names of descriptors.
#pragma once

#include <cerrno>

#include "streams/preload/names/places.hpp"

namespace sheaf::posix {

// Returns whether `path` is a symbolic link to a captured file, and stores its place; with `missing`, also
// for a link to a captured name without a file. For names that the kernel did not find (errno ENOENT).
// Changes errno to ENOTDIR if a captured file takes the place of a directory of the name.
bool find_behind_link(int at, const char* path, Place& place, bool missing = false) noexcept;

// Corrects the result of a call on a name: -1 with ENOENT becomes ENOTDIR if a captured file takes the place
// of a directory of the name.
void explain(int at, const char* path) noexcept;
template <class Result>
Result explained(int at, const char* path, Result result) noexcept {
  if (result < 0 && errno == ENOENT && path) explain(at, path);
  return result;
}

// Returns N for /dev/fd/N, /proc/self/fd/N (also with thread-self or the number of this process), and
// /dev/stdin, stdout and stderr; -1 for other names. The inline check rejects most names cheaply.
int descriptor_named_below(const char* path) noexcept;
inline bool may_name_descriptor(const char* path) noexcept {
  return path && path[0] == '/' && (path[1] == 'd' || path[1] == 'p');
}
inline int descriptor_named(const char* path) noexcept {
  return may_name_descriptor(path) ? descriptor_named_below(path) : -1;
}

// open(2) of such a name: creates another open file of the same stream.
int open_again(int fd, int flags) noexcept;
// open(2) of /proc/PID/fd/N of another process. Returns hand_on if that is not a captured file.
bool names_other_process(const char* path) noexcept;
int open_of_other_process(const char* path, int flags) noexcept;

}  // namespace sheaf::posix

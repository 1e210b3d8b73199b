// api/posix/names/links: names that lead to captured files by way of the file system: symbolic links, which
// the kernel finds to lead nowhere, and the names of descriptors.
#pragma once

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// Whether `path` is a symbolic link at whose end a captured file is, which `place` becomes; missing: or would
// be, because there is nothing. For names that the kernel did not find; errno, ENOENT then, becomes ENOTDIR
// if a captured file stands for a directory of the name.
bool find_behind_link(int at, const char* path, Place& place, bool missing = false) noexcept;

// N of /dev/fd/N, of /proc/self/fd/N, also with thread-self or the number of this process, and of /dev/stdin
// and its kin; -1: it is none of these. Calls with a name ask this before others: most begin otherwise.
int descriptor_named_below(const char* path) noexcept;
inline bool may_name_descriptor(const char* path) noexcept {
  return path && path[0] == '/' && (path[1] == 'd' || path[1] == 'p');
}
inline int descriptor_named(const char* path) noexcept {
  return may_name_descriptor(path) ? descriptor_named_below(path) : -1;
}

// open(2) of such a name: another open file of the same stream.
int open_again(int fd, int flags) noexcept;
// The same of /proc/PID/fd/N of another process; hand_on: that is no captured file.
bool names_other_process(const char* path) noexcept;
int open_of_other_process(const char* path, int flags) noexcept;

}  // namespace sheaf::posix

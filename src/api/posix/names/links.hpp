// api/posix/names/links: names that lead to captured files by way of the file system: symbolic links, which
// the kernel finds to lead nowhere, and the names of descriptors.
#pragma once

#include <cerrno>

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// Whether `path` is a symbolic link at whose end a captured file is, which `place` becomes; missing: or would
// be, because there is nothing. For names that the kernel did not find; errno, ENOENT then, becomes ENOTDIR
// if a captured file stands for a directory of the name.
bool find_behind_link(int at, const char* path, Place& place, bool missing = false) noexcept;

// The result of a call on a name, as the kernel has answered: -1 with ENOENT becomes ENOTDIR where a captured
// file stands for a directory of the name.
void explain(int at, const char* path) noexcept;
template <class Result>
Result explained(int at, const char* path, Result result) noexcept {
  if (result < 0 && errno == ENOENT && path) explain(at, path);
  return result;
}

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

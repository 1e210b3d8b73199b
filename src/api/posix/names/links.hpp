// api/posix/names/links: names that lead to captured files by way of the file system: symbolic links, which
// the kernel finds to lead nowhere, and the names of descriptors.
#pragma once

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// Whether `path` is a symbolic link at whose end a captured file is, which `place` becomes. For names that
// the kernel did not find.
bool find_behind_link(int at, const char* path, Place& place) noexcept;

// N of /dev/fd/N, /proc/self/fd/N, /dev/stdin and its kin; -1: it is none of these.
int descriptor_named(const char* path) noexcept;

// open(2) of such a name: another open file of the same stream.
int open_again(int fd, int flags) noexcept;

}  // namespace sheaf::posix

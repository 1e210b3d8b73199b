// streams/preload/duplicates: dup and close as implemented by the entry points, for use by the stdio code.
#pragma once

#include "streams/preload/descriptors.hpp"

namespace sheaf::posix {

// dup(2) of a captured descriptor, with or without O_CLOEXEC in `flags`. Must be called within an Inside
// (streams/preload/inside.hpp).
int duplicate_captured(int fd, int flags);
// close(2) of any descriptor.
int close_descriptor(int fd);
// Drops the state of a captured descriptor that the C library has closed or reused by internal calls that
// bypass the preload, or is about to.
void forget_captured(int fd);
// Returns `fd`, a descriptor just returned by the kernel or -1, after dropping any stale table entry.
inline int new_descriptor(int fd) {
  if (is_captured(fd)) forget_captured(fd);
  return fd;
}

}  // namespace sheaf::posix

// streams/preload/duplicates: dup and close as implemented by the entry points, for use by the stdio code.
#pragma once

#include "streams/preload/descriptors.hpp"

namespace sheaf::preload {

// dup(2) of a captured descriptor, with or without O_CLOEXEC in `flags`. Must be called within an Inside
// (streams/preload/inside.hpp).
int duplicate_captured(int fd, int flags);
// close(2) of any descriptor.
int close_descriptor(int fd);
// Drops the state of a captured descriptor. Called before or after the C library closes or reuses the
// descriptor by internal calls that bypass the preload.
void forget_captured(int fd);
// Drops a stale table entry of `fd` and returns `fd`. `fd` is a descriptor that the kernel has just returned,
// or -1.
inline int new_descriptor(int fd) {
  if (is_captured(fd)) forget_captured(fd);
  return fd;
}

}  // namespace sheaf::preload

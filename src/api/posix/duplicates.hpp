// api/posix/duplicates: dup and close as the entry points do them, for those of stdio.
#pragma once

#include "api/posix/descriptors.hpp"

namespace sheaf::posix {

// dup(2) of a captured descriptor, with O_CLOEXEC in `flags` or without. Inside.
int duplicate_captured(int fd, int flags);
// close(2), captured or not.
int close_descriptor(int fd);
// What is known of a captured descriptor that the C library has closed, or made another file's, by ways that
// no preload meets, or is about to.
void forget_captured(int fd);
// A descriptor that the kernel has just given, or -1: it is no captured file, whatever the table says.
inline int new_descriptor(int fd) {
  if (is_captured(fd)) forget_captured(fd);
  return fd;
}

}  // namespace sheaf::posix

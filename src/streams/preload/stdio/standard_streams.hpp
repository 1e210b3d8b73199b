// streams/preload/stdio/standard_streams: stdin, stdout and stderr of the C library access descriptors 0, 1
// and 2 by internal calls that bypass the preload. If such a descriptor is a captured file, a stream of this
// library replaces the one of the C library.
#pragma once

namespace sheaf::preload {

// show_standard_stream() replaces the standard stream of `fd` after `fd` has become a captured file. It has
// no effect for descriptors other than 0, 1 and 2. The new stream takes over the output that the C library
// has buffered. shown_standard_stream() does the same and returns `fd`. Neither may be called within an
// Inside (streams/preload/inside.hpp).
void show_standard_stream(int fd);
inline int shown_standard_stream(int fd) {
  if (fd >= 0 && fd <= 2) show_standard_stream(fd);
  return fd;
}

}  // namespace sheaf::preload

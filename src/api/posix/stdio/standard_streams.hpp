// api/posix/stdio/standard_streams: stdin, stdout and stderr of the C library write to descriptors 0, 1 and 2
// by calls that no preload meets. Where such a descriptor is a captured file, a stream of ours takes the
// place of the C library's.
#pragma once

namespace sheaf::posix {

// After `fd` has become a captured file, by whatever call: nothing for other descriptors than 0, 1 and 2.
// What the C library's stream holds is taken over, so this is called outside.
void show_standard_stream(int fd);
inline int shown_standard_stream(int fd) {
  if (fd >= 0 && fd <= 2) show_standard_stream(fd);
  return fd;
}

}  // namespace sheaf::posix

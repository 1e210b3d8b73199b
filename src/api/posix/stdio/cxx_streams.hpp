// api/posix/stdio/cxx_streams: std::cout and its kin remember the stream of the C library that they were made
// for, which is no longer what `stdout` names once a stream of ours has taken its place.
#pragma once

#include <stdio.h>

namespace sheaf::posix {

// The streams of libstdc++ for descriptor `fd` (0 to 2) that still use `old` go on with `made`. Nothing where
// the program has no shared libstdc++, or has begun to use buffers of its own (sync_with_stdio(false)), which
// need no C stream to write.
void show_cxx_streams(int fd, FILE* old, FILE* made) noexcept;

}  // namespace sheaf::posix

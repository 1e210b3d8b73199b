// streams/preload/stdio/cxx_streams: std::cout and the other standard streams keep the C stream that they
// were created for. After a stream of this library replaces `stdout`, they must be redirected to it.
#pragma once

#include <stdio.h>

namespace sheaf::posix {

// Redirects the libstdc++ streams for descriptor `fd` (0 to 2) from `old` to `made`. No effect if the program
// has no shared libstdc++, or has set sync_with_stdio(false), because its streams then use their own buffers
// and no C stream.
void show_cxx_streams(int fd, FILE* old, FILE* made) noexcept;

}  // namespace sheaf::posix

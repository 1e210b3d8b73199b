// streams/preload/stdio/cxx_streams: redirects std::cout and the other standard streams of C++. Each keeps
// the C stream that it was created for, and therefore must be redirected after a stream of this library has
// replaced that C stream.
#pragma once

#include <stdio.h>

namespace sheaf::preload {

// Redirects the C++ streams for descriptor `fd` (0 to 2) from the C stream `old` to `made`. Has no effect if
// the program does not use a shared libstdc++. Has no effect after sync_with_stdio(false) either, because the
// C++ streams then use no C stream.
void show_cxx_streams(int fd, FILE* old, FILE* made) noexcept;

}  // namespace sheaf::preload

// api/posix/streams: FILE* of captured files. The C library's own streams call the kernel by ways that no
// preload meets, so these are made with fopencookie(3), with the reserved descriptor for fileno().
#pragma once

#include <stdio.h>

#include <optional>

namespace sheaf::posix {

// What the mode of fopen(3) says; nullopt: nothing.
struct StreamMode {
  int flags = 0;       // of open(2)
  char words[4] = "";  // for fopencookie
};
std::optional<StreamMode> stream_mode(const char* text) noexcept;

// A stream on `fd`, which it closes, captured or not. Null with errno.
FILE* make_stream(int fd, const StreamMode& mode) noexcept;
// freopen(3) of a stream that make_stream has made; false: it is none.
bool is_ours(FILE* stream) noexcept;
FILE* reopen_stream(FILE* stream, const char* path, const StreamMode& mode) noexcept;

}  // namespace sheaf::posix

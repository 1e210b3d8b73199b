// api/posix/stdio/streams: FILE* of captured files. The C library's own streams call the kernel by ways that
// no preload meets, so these are made with fopencookie(3), with the reserved descriptor for fileno().
#pragma once

#include <stdio.h>

#include <optional>

namespace sheaf::posix {

// Bits of FILE::_flags, part of the binary interface of the C library.
inline constexpr int stream_at_end = 0x10, stream_in_error = 0x20, stream_of_file = 0x2000;

// What the mode of fopen(3) says; nullopt: nothing.
struct StreamMode {
  int flags = 0;       // of open(2)
  char words[4] = "";  // for fopencookie
};
std::optional<StreamMode> stream_mode(const char* text) noexcept;

// Where a stream that is opened with that mode begins: at the end for "a", not for "a+".
void go_to_end(int fd, const StreamMode& mode);
// A stream on `fd`, which it closes, captured or not. Null with errno.
FILE* make_stream(int fd, const StreamMode& mode);
bool is_ours(FILE* stream) noexcept;  // make_stream has made it
// At the end of the process: offsets of streams are where the program has read to, for others that share
// them.
void give_back_unread() noexcept;
// fwide(3) of a stream of ours: > 0: it is for wide characters, < 0: for bytes, 0: not known yet.
int orient_stream(FILE* stream, int mode);
// freopen(3) of a stream of ours; null with errno.
FILE* reopen_stream(FILE* stream, const char* path, const StreamMode& mode);
// The next buffer of a stream is what the C library would take for its descriptor, as after freopen(3).
void forget_buffering(FILE* file);
// A stream of ours whose descriptor has become another file, opened with that mode: it begins anew.
FILE* renew_stream(FILE* stream, const StreamMode& mode);

}  // namespace sheaf::posix

// streams/preload/stdio/streams: FILE* of captured files. The C library's own streams call the kernel
// directly and bypass the preload. Therefore streams of captured files are created with fopencookie(3). Their
// fileno() is the captured descriptor.
#pragma once

#include <stdio.h>

#include <optional>

namespace sheaf::preload {

// Bits of FILE::_flags, part of the binary interface of the C library.
inline constexpr int stream_at_end = 0x10, stream_in_error = 0x20, stream_of_file = 0x2000;

// Parsed mode of fopen(3).
struct StreamMode {
  int flags = 0;       // of open(2)
  char words[4] = "";  // for fopencookie
};
// Parses a mode of fopen(3). Returns nullopt if the mode is invalid.
std::optional<StreamMode> stream_mode(const char* text) noexcept;

// Moves the offset of `fd` to the end of the file if `mode` is "a". A stream with mode "a+" starts at the
// begin, so its offset stays.
void go_to_end(int fd, const StreamMode& mode);
// Creates a stream on `fd`, captured or not; the stream closes `fd`. Returns null with errno.
FILE* make_stream(int fd, const StreamMode& mode);
bool is_ours(FILE* stream) noexcept;  // created by make_stream
// Moves the offset of each open file back to the position up to which the program has read its stream. Called
// at the end of the process, because other processes may share the offsets and continue there.
void give_back_unread() noexcept;
// Implements fwide(3) for a stream of this library. Returns > 0 for a wide stream, < 0 for a byte stream, 0
// if undecided.
int orient_stream(FILE* stream, int mode);
// Implements freopen(3) for a stream of this library. Returns null with errno.
FILE* reopen_stream(FILE* stream, const char* path, const StreamMode& mode);
// Resets the buffering of `file`. The C library chooses it again at the next access, as after freopen(3).
void forget_buffering(FILE* file);
// Restarts a stream of this library after its descriptor was reopened on another file with `mode`.
FILE* renew_stream(FILE* stream, const StreamMode& mode);

}  // namespace sheaf::preload

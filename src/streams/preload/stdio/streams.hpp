// streams/preload/stdio/streams: FILE* of captured files. The C library's streams call the kernel directly
// and bypass the preload. Therefore these streams are created with fopencookie(3), with the reserved
// descriptor for fileno().
#pragma once

#include <stdio.h>

#include <optional>

namespace sheaf::posix {

// Bits of FILE::_flags, part of the binary interface of the C library.
inline constexpr int stream_at_end = 0x10, stream_in_error = 0x20, stream_of_file = 0x2000;

// Parsed mode of fopen(3).
struct StreamMode {
  int flags = 0;       // of open(2)
  char words[4] = "";  // for fopencookie
};
// Returns nullopt if the mode is invalid.
std::optional<StreamMode> stream_mode(const char* text) noexcept;

// Sets the initial position of a stream: at the end for "a", but not for "a+".
void go_to_end(int fd, const StreamMode& mode);
// Creates a stream on `fd`, captured or not; the stream closes `fd`. Returns null with errno.
FILE* make_stream(int fd, const StreamMode& mode);
bool is_ours(FILE* stream) noexcept;  // created by make_stream
// At the end of the process: sets the shared offsets to the positions up to which the program has read, for
// other processes that share them.
void give_back_unread() noexcept;
// fwide(3) of a stream of this library. Returns > 0 for a wide stream, < 0 for a byte stream, 0 if undecided.
int orient_stream(FILE* stream, int mode);
// freopen(3) of a stream of this library. Returns null with errno.
FILE* reopen_stream(FILE* stream, const char* path, const StreamMode& mode);
// Makes the next buffer the default of the C library for the descriptor, as after freopen(3).
void forget_buffering(FILE* file);
// Restarts a stream of this library after its descriptor was reopened as another file with that mode.
FILE* renew_stream(FILE* stream, const StreamMode& mode);

}  // namespace sheaf::posix

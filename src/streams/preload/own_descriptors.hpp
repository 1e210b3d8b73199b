// streams/preload/own_descriptors: descriptors that this library and the containers open without the
// knowledge of the program. They have high numbers, so that the program gets the same numbers as without the
// library. Calls that close unknown descriptors skip them.
#pragma once

namespace sheaf::posix {

// Moves a descriptor just opened to a high number and sets close-on-exec; passes -1 through with errno. The
// number depends on the descriptor limit of the program and is above `above`. If no such number is free, the
// descriptor keeps its number.
int own_descriptor(int fd, int above = -1) noexcept;
// Registers a descriptor that keeps its number.
void keep_as_own_descriptor(int fd) noexcept;
void close_own_descriptor(int fd) noexcept;

bool is_own_descriptor(int fd) noexcept;

}  // namespace sheaf::posix

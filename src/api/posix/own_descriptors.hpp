// api/posix/own_descriptors: files that this library, and the containers below it, have open in a program
// that does not know. They have high numbers, so that the program gets those it would get without us, and
// calls that close what they do not know leave them.
#pragma once

namespace sheaf::posix {

// Moves a descriptor that was just opened (-1: passed on, with errno) to a high number, closed by an exec.
// The program's limit of descriptors decides how high, but above `above`. If there is no room, it stays where
// it is.
int own_descriptor(int fd, int above = -1) noexcept;
// One that stays at its number.
void keep_as_own_descriptor(int fd) noexcept;
void close_own_descriptor(int fd) noexcept;

bool is_own_descriptor(int fd) noexcept;

}  // namespace sheaf::posix

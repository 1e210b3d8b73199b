// streams/preload/own_descriptors: descriptors of this library and its containers, which the program does not
// know. They have high numbers, so that the program gets the same numbers as without the library. Entry
// points that close ranges of descriptors skip them.
#pragma once

namespace sheaf::preload {

// Moves a newly opened descriptor to a high number greater than `above`, and sets close-on-exec. Returns the
// new number, or `fd` unchanged if no such number is free. Returns -1 for -1 and preserves errno. The number
// depends on the descriptor limit of the program.
int own_descriptor(int fd, int above = -1) noexcept;
// Registers `fd` as a descriptor of the library without changing its number.
void keep_as_own_descriptor(int fd) noexcept;
void close_own_descriptor(int fd) noexcept;

bool is_own_descriptor(int fd) noexcept;

}  // namespace sheaf::preload

// streams/preload/locks: locks on captured files. Processes of one host exclude each other; processes of
// different hosts do not.
//
// Ranges are locked in a shared-memory file that represents the stream. A lock of flock(2) belongs to the
// open file, so it is a byte lock on the file that the descriptors are open on (state.hpp). dup, fork and
// exec pass it on. These descriptors cannot write, so they take read locks. Each slot has two bytes, one for
// shared and one for exclusive locks. To detect a conflict, a process tries to lock the bytes of other slots
// for writing, on a temporary descriptor.
#pragma once

#include <fcntl.h>

#include <span>
#include <vector>

#include "streams/preload/descriptors.hpp"

namespace sheaf::posix {

// Implement fcntl(2) with F_SETLK, F_SETLKW, F_GETLK and the F_OFD commands, and flock(2). All functions of
// this file must be called within an Inside (streams/preload/inside.hpp); waiting calls leave it while they
// block. Return 0, or -1 with errno.
int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range);
int lock_whole(const Inside& inside, int fd, OpenFile& file, int operation);
// Releases the locks of the process on the stream when one of its descriptors is closed, as POSIX requires.
void drop_process_locks(const OpenFile& file) noexcept;
// Returns the F_SETLK locks of this process on the file.
std::vector<struct flock> process_locks_of(const OpenFile& file);
// Preserves the process locks across exec, except on files with a descriptor that exec closes. The new
// program adopts them from its inherited descriptors after it has found its captured files.
void keep_process_locks() noexcept;
void adopt_process_locks(std::span<const int> inherited) noexcept;
// Discards the process locks in a child of fork(2), which inherits none.
void forget_process_locks() noexcept;

}  // namespace sheaf::posix

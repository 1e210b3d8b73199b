// api/posix/locks: locks on captured files. Processes of a host exclude each other; those of different hosts
// do not. Ranges are locked in a file in shared memory that stands for the stream. What flock(2) locks
// belongs to the open file, so it is a byte of the file that the descriptors themselves are open on
// (state.hpp): dup, fork and exec hand that on. Those descriptors cannot write, so they lock for reading, one
// byte if shared and another if exclusive, each slot its own; whoever wants a lock sees by locking those of
// others for writing, on a descriptor of his own for the moment, whether any is in his way.
#pragma once

#include <fcntl.h>

#include <span>
#include <vector>

#include "api/posix/descriptors.hpp"

namespace sheaf::posix {

// All inside. fcntl(2) with F_SETLK, F_SETLKW, F_GETLK and the F_OFD ones; flock(2). 0, or -1 with errno.
// Those that wait do so outside.
int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range);
int lock_whole(const Inside& inside, int fd, OpenFile& file, int operation);
// A descriptor of that stream is closed: locks that belong to the process go, as POSIX has it.
void drop_process_locks(const OpenFile& file) noexcept;
// What this process has locked of it with F_SETLK.
std::vector<struct flock> process_locks_of(const OpenFile& file);
// An exec follows: they stay, but for files of which it closes a descriptor. The program that follows finds
// them among the descriptors that it has inherited, once it knows its captured files.
void keep_process_locks() noexcept;
void adopt_process_locks(std::span<const int> inherited) noexcept;
// A child of fork(2) has none.
void forget_process_locks() noexcept;

}  // namespace sheaf::posix

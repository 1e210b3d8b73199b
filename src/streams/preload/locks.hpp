// streams/preload/locks: locks on captured files. Processes of one host exclude each other; processes of
// different hosts do not.
//
// Range locks of fcntl(2) are taken on a lock file in shared memory, one for each stream. A lock of flock(2)
// belongs to the open file. It is a byte lock on the file of all captured descriptors (state.hpp), so that
// dup, fork and exec pass the lock on with the descriptor. For each stream, that file has two bytes per slot,
// one for a shared and one for an exclusive lock. The holder has a read lock on its byte, because captured
// descriptors are read-only. To detect conflicts, a process tries to write-lock the bytes of the other slots
// through a temporary descriptor.
#pragma once

#include <fcntl.h>

#include <span>
#include <vector>

#include "streams/preload/descriptors.hpp"

namespace sheaf::preload {

// lock_range() implements fcntl(2) with F_SETLK, F_SETLKW, F_GETLK and the F_OFD commands. lock_whole()
// implements flock(2). Both return 0, or -1 with errno, and leave `inside` while they wait for a lock. All
// functions of this file must be called within an Inside (streams/preload/inside.hpp).
int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range);
int lock_whole(const Inside& inside, int fd, OpenFile& file, int operation);
// Releases the locks of the process on the stream of `file`. Called when the process closes any descriptor of
// the stream, as POSIX requires.
void drop_process_locks(const OpenFile& file) noexcept;
// Returns the F_SETLK locks of this process on the file.
std::vector<struct flock> process_locks_of(const OpenFile& file);
// keep_process_locks() preserves the process locks across exec, except on files with a descriptor that exec
// closes. adopt_process_locks() restores them in the new program from its `inherited` descriptors. The new
// program calls it after it has registered its captured files.
void keep_process_locks() noexcept;
void adopt_process_locks(std::span<const int> inherited) noexcept;
// Discards the copies of the process locks in a child of fork(2). The child inherits no process locks.
void forget_process_locks() noexcept;

}  // namespace sheaf::preload

// storage/posix/posix_locks: calls the record locks of the operating system.
//
// This library uses open file description locks: each open file is a separate holder, also within one
// process. Programs mostly use lockf(3) or fcntl(2), where the process is the holder; the kernel
// distinguishes the two kinds.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace sheaf {

// Returns the description of a lock on bytes [offset, offset + length). `type` is F_RDLCK, F_WRLCK or
// F_UNLCK.
struct flock lock_of(short type, int64_t offset, int64_t length);

// Calls F_OFD_SETLK, F_OFD_SETLKW or F_OFD_GETLK; F_OFD_GETLK stores a conflicting lock in `range`. Returns 0
// or the errno.
int call_lock(int fd, int command, struct flock& range);

}  // namespace sheaf

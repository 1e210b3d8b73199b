// storage/posix/posix_locks: record locks of the operating system.
//
// This library locks open file descriptions: each open file is a holder of its own, in one process too.
// Programs mostly lock with lockf(3) or fcntl(2), for processes; the kernel tells the two apart.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace sheaf {

// A lock on bytes [offset, offset + length). type: F_RDLCK, F_WRLCK, F_UNLCK.
struct flock lock_of(short type, int64_t offset, int64_t length);

// F_OFD_SETLK, F_OFD_SETLKW or F_OFD_GETLK, which says what is in the way. 0, or the errno.
int call_lock(int fd, int command, struct flock& range);

}  // namespace sheaf

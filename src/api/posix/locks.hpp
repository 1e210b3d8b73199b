// api/posix/locks: locks on captured files. They are taken on a file in shared memory that stands for the
// stream, so processes of a host exclude each other; those of different hosts do not.
#pragma once

#include <fcntl.h>

#include "api/posix/descriptors.hpp"

namespace sheaf::posix {

// All inside. fcntl(2) with F_SETLK, F_SETLKW, F_GETLK and the F_OFD ones; flock(2). 0, or -1 with errno.
// Those that wait do so outside.
int lock_range(const Inside& inside, OpenFile& file, int command, struct flock* range);
int lock_whole(const Inside& inside, OpenFile& file, int operation);
// A descriptor of that stream is closed: locks that belong to the process go, as POSIX has it.
void drop_process_locks(const OpenFile& file) noexcept;

}  // namespace sheaf::posix

// api/posix/opening: opening by name as the entry points do it, for those of stdio and syscall(2) as well.
#pragma once

#include <sys/types.h>

namespace sheaf::posix {

struct Place;

// openat(2), captured or not.
int open_name(int at, const char* path, int flags, mode_t mode);

// The same of a name whose place is known.
int open_place(const Place& place, int at, const char* path, int flags, mode_t mode);

}  // namespace sheaf::posix

// streams/preload/opening: open by name as implemented by the entry points, also for the stdio code and
// syscall(2).
#pragma once

#include <sys/types.h>

namespace sheaf::posix {

struct Place;

// openat(2) of any name.
int open_name(int at, const char* path, int flags, mode_t mode);

// Like open_name, for a name with a known place.
int open_place(const Place& place, int at, const char* path, int flags, mode_t mode);

}  // namespace sheaf::posix

// streams/preload/opening: open(2) by name as implemented by the entry points. The stdio code and the entry
// point of syscall(2) call the same functions.
#pragma once

#include <sys/types.h>

namespace sheaf::preload {

struct Place;

// Implements openat(2) for any name, captured or not.
int open_name(int at, const char* path, int flags, mode_t mode);

// Like open_name, for a name with a known place.
int open_place(const Place& place, int at, const char* path, int flags, mode_t mode);

}  // namespace sheaf::preload

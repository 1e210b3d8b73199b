// base/os/static_program: tells which programs a preload cannot reach.
#pragma once

#include "base/export.hpp"

namespace sheaf {

// Returns whether preloading has no effect on the program `name`, because it is linked statically or runs
// with other privileges than the user's. Searches for the program as execvp(3) does. Returns false for
// unreadable files. Allocates no memory.
SHEAF_EXPORT bool is_static_program(const char* name) noexcept;

}  // namespace sheaf

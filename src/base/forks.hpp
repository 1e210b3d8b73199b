// base/forks: how what has threads learns that it finds itself in a forked child, where there are none of
// them.
#pragma once

#include <cstdint>

namespace sheaf {

// Number of forks that lie between this process and the one that asked first. Threads of a process see the
// same number; a child sees a larger one than its parent did. Costs an atomic load. Any thread.
int64_t forks();

}  // namespace sheaf

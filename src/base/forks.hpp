// base/forks: detects a fork. Objects with threads use it to recognize that they are in a forked child, where
// those threads do not exist.
#pragma once

#include <cstdint>

namespace sheaf {

// Returns the number of forks between this process and the one that called first. All threads of a process
// get the same number, and a child gets a larger one than its parent. Costs one atomic load. Thread-safe.
int64_t forks();

}  // namespace sheaf

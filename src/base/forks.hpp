// base/forks: detects a fork. Objects with threads use it to find out that they are in a forked child, where
// those threads do not exist.
#pragma once

#include <cstdint>

namespace sheaf {

// Returns the number of forks between this process and the one that called first. Equal for all threads of a
// process; larger in a child than in its parent. Costs one atomic load. Any thread.
int64_t forks();

}  // namespace sheaf

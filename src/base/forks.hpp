// base/forks: detects a fork. An object that owns threads compares two results to detect that it is in a
// forked child, where its threads do not exist.
#pragma once

#include <cstdint>

namespace sheaf {

// Returns the number of forks between the first process that called it and this one. The number is equal in
// all threads of a process and larger in a child than in its parent. Costs one atomic load. Any thread may
// call it.
int64_t forks();

}  // namespace sheaf

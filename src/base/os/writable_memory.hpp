// base/os/writable_memory: tests without a fault whether memory is writable.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace sheaf {

// Returns true if the int at `number` may be written, and false for a constant in read-only memory. Changes
// the int if it is writable: getcpu(2) stores a processor number in it, or fails with EFAULT.
inline bool try_overwrite(int* number) { return syscall(SYS_getcpu, number, nullptr, nullptr) == 0; }

}  // namespace sheaf

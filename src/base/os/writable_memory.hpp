// base/os/writable_memory: tests without a fault whether memory is writable.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace sheaf {

// Returns whether the int at `number` may be written; false for a constant in read-only memory. Changes the
// value of writable memory: the kernel stores a processor number there, or fails with EFAULT (getcpu(2)).
inline bool try_overwrite(int* number) { return syscall(SYS_getcpu, number, nullptr, nullptr) == 0; }

}  // namespace sheaf

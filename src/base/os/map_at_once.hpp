// base/os/map_at_once: maps pages of shared memory that a process is about to access.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include "base/assert.hpp"

namespace sheaf {

// Maps the allocated pages of `memory`, which must be page-aligned, in one system call. One page fault per
// page would cost several times as much. Does nothing on kernels before 5.14, where the accesses fault as
// usual.
inline void map_at_once(std::span<std::byte> memory) {
  SHEAF_ASSERT(reinterpret_cast<uintptr_t>(memory.data()) % 4096 == 0);  // the smallest page
  constexpr int populate_read = 22;  // MADV_POPULATE_READ, absent from older headers
  const int before = errno;
  ::madvise(memory.data(), memory.size(), populate_read);
  errno = before;
}

}  // namespace sheaf

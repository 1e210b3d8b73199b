// process/map_at_once: pages of shared memory that a process is about to touch.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace sheaf {

// Maps what is there of the memory, which begins on a page, by one call: a fault for each page costs several
// times as much. A hint: kernels before 5.14 leave it at faults.
inline void map_at_once(std::span<std::byte> memory) {
  constexpr int populate_read = 22;  // MADV_POPULATE_READ, which older headers do not have
  const int before = errno;
  ::madvise(memory.data(), memory.size(), populate_read);
  errno = before;
}

}  // namespace sheaf

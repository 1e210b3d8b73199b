// base/os/memory: memory of this process and of this host, as the operating system manages it.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/assert.hpp"
#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf {

// Returns the bytes that the host, and the control group of this process if that is limited, have available.
// Returns 1 GiB if the system does not tell.
SHEAF_EXPORT int64_t available_memory();

// Whole pages, taken from the operating system and returned to it.
class PageMemory : private NonCopyable {
 public:
  // Allocates `bytes` > 0 bytes of zeros, in large pages if the system grants them. Throws std::bad_alloc.
  explicit PageMemory(size_t bytes) : bytes_(bytes), begin_(map(bytes)) {}
  ~PageMemory() { ::munmap(begin_, bytes_); }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(begin_), bytes_}; }

 private:
  static void* map(size_t bytes) {
    SHEAF_ASSERT(bytes > 0);
    void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    const int before = errno;
    ::madvise(begin, bytes, MADV_HUGEPAGE);
    errno = before;
    return begin;
  }

  const size_t bytes_;
  void* const begin_;
};

// Returns true if the int at `number` may be written, and false for a constant in read-only memory. Changes
// the int if it is writable: getcpu(2) stores a processor number in it, or fails with EFAULT.
inline bool try_overwrite(int* number) { return syscall(SYS_getcpu, number, nullptr, nullptr) == 0; }

}  // namespace sheaf

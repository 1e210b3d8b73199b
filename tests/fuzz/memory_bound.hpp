// memory_bound: limits how many bytes of heap a program holds at once. Replaces operator new and delete.
#pragma once

#include <cstdint>

namespace sheaf::fuzz {

// While the object exists, the program may hold `bytes` bytes more than at its construction. If the program
// holds more, the object prints a message and aborts, so that a fuzzer keeps the input. Only one object may
// exist at a time. Not thread-safe.
class MemoryBound {
 public:
  explicit MemoryBound(int64_t bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

  int64_t max_held() const;  // bytes, since construction

  // Returns the bound for reading files of `bytes` bytes.
  static int64_t for_files(int64_t bytes) { return 64 * bytes + (64 << 20); }
  // Returns the bound for decoding a single structure of `bytes` bytes, including error messages.
  static int64_t for_structure(int64_t bytes) { return 64 * bytes + (16 << 10); }
};

}  // namespace sheaf::fuzz

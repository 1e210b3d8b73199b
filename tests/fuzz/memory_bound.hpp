// memory_bound: how many bytes of heap a program holds at once. Watches operator new and delete.
#pragma once

#include <cstdint>

namespace sheaf::fuzz {

// While it lives, the program may hold `bytes` more than at its begin; what exceeds that prints a message and
// aborts, so that a fuzzer keeps the input. One at a time; not thread-safe.
class MemoryBound {
 public:
  explicit MemoryBound(int64_t bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

  int64_t most_held() const;  // bytes, since its begin

  // What reading files of so many bytes may take.
  static int64_t for_files(int64_t bytes) { return 64 * bytes + (64 << 20); }
  // What decoding a single structure of so many bytes may take; errors have messages.
  static int64_t for_structure(int64_t bytes) { return 64 * bytes + (16 << 10); }
};

}  // namespace sheaf::fuzz

// base/bytes: bytes in memory: whether they may be a hole of a file, and memory for data that are read in
// large pieces.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace sheaf {

// Whether all are zero, which none are too. As fast as the C library compares.
inline bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

inline constexpr std::align_val_t cache_line{64};  // bytes; of all processors of today, or a part of theirs

// Of memory that begins at a line of the cache: into memory that begins within one, as that of std::vector
// usually does, some processors copy what the kernel has in its page cache at a fifth of the speed.
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class Other>
  explicit LineAllocator(const LineAllocator<Other>&) noexcept {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), cache_line)); }
  void deallocate(T* memory, size_t) noexcept { ::operator delete(memory, cache_line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using LineBytes = std::vector<std::byte, LineAllocator<std::byte>>;

struct LineDelete {
  void operator()(std::byte* memory) const { ::operator delete(memory, cache_line); }
};
using LineMemory = std::unique_ptr<std::byte[], LineDelete>;

// Not filled with zeros, for buffers of which a part may never be used.
inline LineMemory line_memory(size_t bytes) {
  return LineMemory(static_cast<std::byte*>(::operator new(bytes, cache_line)));
}

}  // namespace sheaf

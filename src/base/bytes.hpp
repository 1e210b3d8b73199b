// base/bytes: detects zero bytes, which may become a hole of a file, and allocates cache-aligned memory for
// large reads.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace sheaf {

// Returns true if all bytes are zero or `bytes` is empty. Runs at the speed of the C library's memcmp.
inline bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

inline constexpr std::align_val_t cache_line{
    64};  // bytes; processors have lines of this size or of multiples

// Allocates memory aligned to a cache line. Memory from the default allocator usually starts inside a line.
// Some processors then copy from the page cache at a fifth of the speed.
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

// Allocates `bytes` bytes aligned to a cache line. Does not zero them, because the caller may use only a part
// of the buffer.
inline LineMemory line_memory(size_t bytes) {
  return LineMemory(static_cast<std::byte*>(::operator new(bytes, cache_line)));
}

}  // namespace sheaf

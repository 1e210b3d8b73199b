// base/line_bytes: memory for data of files that are read in large pieces. It begins at a line of the cache:
// into memory that begins within one, as that of std::vector usually does, some processors copy what the
// kernel has in its page cache at a fifth of the speed.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace sheaf {

inline constexpr std::align_val_t cache_line{64};  // bytes; of all processors of today, or a part of theirs

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

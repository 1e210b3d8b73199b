// streams/container/index/shared_allocator: allocates blocks of the memory that the processes of a host
// share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>

#include "base/assert.hpp"
#include "base/os/host_memory.hpp"

namespace sheaf::streams {

using SharedPlace = uint64_t;  // offset in the shared memory; 0: none

class SharedAllocator {
 public:
  // In shared memory. Zeros are its initial state, apart from `mutex` and `used`.
  struct AllocatorState {
    HostMutex mutex;       // guards the following fields
    uint64_t used;         // bytes of the memory
    SharedPlace free[66];  // free blocks by size in units of `grain`
  };

  // `state`: place of the AllocatorState. `memory` must outlive the object.
  SharedAllocator(HostMemory& memory, SharedPlace state) : memory_(memory), state_(state) {}
  // Initializes the state. Blocks start at `first` or later.
  void begin(SharedPlace first);

  HostMemory& memory() const { return memory_; }

  // Throws `no_space`.
  SharedPlace allocate(uint64_t bytes);
  void release(SharedPlace at, uint64_t bytes);

  // Allocate and release a T.
  template <class T>
  SharedPlace make() {
    const SharedPlace at = allocate(sizeof(T));
    ::new (memory_.at(at)) T{};
    return at;
  }
  template <class T>
  void drop(SharedPlace at) {
    release(at, sizeof(T));
  }

  // Allocate and release a T whose last members are the number of bytes and the first characters of a text.
  template <class T>
  SharedPlace make_with(std::string_view text) {
    const SharedPlace at = allocate(offsetof(T, text) + text.size());
    T& made = *::new (memory_.at(at)) T{};
    made.bytes = static_cast<uint32_t>(text.size());
    std::memcpy(memory_.at(at) + offsetof(T, text), text.data(), text.size());
    return at;
  }
  template <class T>
  void drop_with(SharedPlace at) {
    release(at, offsetof(T, text) + memory_.as<T>(at).bytes);
  }

 private:
  static constexpr uint64_t grain = 64;  // unit of blocks, bytes
  static uint64_t grains(uint64_t bytes) { return (bytes + grain - 1) / grain; }
  AllocatorState& state() { return memory_.as<AllocatorState>(state_); }

  HostMemory& memory_;
  const SharedPlace state_;
};

inline void SharedAllocator::begin(SharedPlace first) {
  state().mutex.make();
  state().used = grains(first) * grain;
}

inline SharedPlace SharedAllocator::allocate(uint64_t bytes) {
  AllocatorState& now = state();
  const uint64_t size = grains(bytes);
  const HostLock lock(now.mutex);
  // If a holder of the lock was killed, the free lists may be inconsistent, so drop them. Their blocks stay
  // unused until the memory is rebuilt.
  if (lock.after_kill()) std::ranges::fill(now.free, 0);
  if (size < std::size(now.free) && now.free[size] != 0) {
    const SharedPlace at = now.free[size];
    now.free[size] = memory_.as<SharedPlace>(at);
    return at;
  }
  SharedPlace at = now.used;
  if (at / HostMemory::chunk != (at + size * grain - 1) / HostMemory::chunk)
    at = (at / HostMemory::chunk + 1) * HostMemory::chunk;
  memory_.reach(at + size * grain);
  now.used = at + size * grain;
  return at;
}

inline void SharedAllocator::release(SharedPlace at, uint64_t bytes) {
  AllocatorState& now = state();
  const uint64_t size = grains(bytes);
  SHEAF_ASSERT(at != 0 && size > 0 && size < std::size(now.free));
  const HostLock lock(now.mutex);
  if (lock.after_kill()) std::ranges::fill(now.free, 0);
  memory_.as<SharedPlace>(at) = now.free[size];
  now.free[size] = at;
}

}  // namespace sheaf::streams

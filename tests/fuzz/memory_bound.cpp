#include "fuzz/memory_bound.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

int64_t held = 0;
int64_t most = 0;
int64_t begin = 0;
int64_t bound = INT64_MAX;

void* allocate(std::size_t size) {
  if (static_cast<int64_t>(size) < 0 || held - begin > bound - static_cast<int64_t>(size)) {
    std::fprintf(stderr, "memory bound: %lld bytes held, %zu more asked for, %lld allowed\n",
                 static_cast<long long>(held - begin), size, static_cast<long long>(bound));
    std::abort();
  }
  void* block = std::malloc(std::max<std::size_t>(size, 1));
  if (!block) throw std::bad_alloc();
  held += static_cast<int64_t>(malloc_usable_size(block));
  most = std::max(most, held);
  return block;
}

void release(void* block) {
  if (!block) return;
  held -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

namespace sheaf::fuzz {

MemoryBound::MemoryBound(int64_t bytes) {
  begin = most = held;
  bound = bytes;
}
MemoryBound::~MemoryBound() { bound = INT64_MAX; }
int64_t MemoryBound::most_held() const { return most - begin; }

}  // namespace sheaf::fuzz

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }

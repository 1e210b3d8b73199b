// Counts bytes in operator new and delete or, if sanitizers replace these operators, in hooks of the
// sanitizers.
#include "fuzz/memory_bound.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHEAF_SANITIZED_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHEAF_SANITIZED_HEAP 1
#endif
#endif
#ifdef SHEAF_SANITIZED_HEAP
// Declared as in <sanitizer/allocator_interface.h>, which GCC does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                                         void (*released)(const volatile void*));
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* block);
#endif

namespace {

std::atomic<int64_t> held = 0;  // readers allocate on several threads
std::atomic<int64_t> most = 0;
int64_t begin = 0;
int64_t bound = INT64_MAX;

void check(std::size_t size) {
  if (static_cast<int64_t>(size) >= 0 && held - begin <= bound - static_cast<int64_t>(size)) return;
  std::fprintf(stderr, "memory bound: %lld bytes held, %zu more asked for, %lld allowed\n",
               static_cast<long long>(held.load() - begin), size, static_cast<long long>(bound));
  std::abort();
}

void count(int64_t bytes) {
  const int64_t now = held += bytes;
  for (int64_t before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
}

#ifdef SHEAF_SANITIZED_HEAP
void allocated(const volatile void*, std::size_t size) {
  check(size);
  count(static_cast<int64_t>(size));
}
void released(const volatile void* block) {
  if (block) held -= static_cast<int64_t>(__sanitizer_get_allocated_size(block));
}
const int installed = __sanitizer_install_malloc_and_free_hooks(&allocated, &released);
#else
void* allocate(std::size_t size) {
  check(size);
  void* block = std::malloc(std::max<std::size_t>(size, 1));
  if (!block) throw std::bad_alloc();
  count(static_cast<int64_t>(malloc_usable_size(block)));
  return block;
}

void release(void* block) {
  if (!block) return;
  held -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}
#endif

}  // namespace

namespace sheaf::fuzz {

MemoryBound::MemoryBound(int64_t bytes) {
#ifdef SHEAF_SANITIZED_HEAP
  if (installed == 0) std::abort();
#endif
  begin = held;
  most = begin;
  bound = bytes;
}
MemoryBound::~MemoryBound() { bound = INT64_MAX; }
int64_t MemoryBound::max_held() const { return most - begin; }

}  // namespace sheaf::fuzz

#ifndef SHEAF_SANITIZED_HEAP
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
#endif

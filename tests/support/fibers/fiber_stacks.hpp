// support/fibers/fiber_stacks: the stacks of all fibers in one lazily touched mapping. Private to
// fiber_comm.cpp.
//
// Stacks grow down. The 64 bytes below a stack are its canary, at the top of the next lower stack. The next
// lower stack touches that page anyway, so the check costs no memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SHEAF_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHEAF_FIBER_ASAN 1
#endif
#endif
#ifdef SHEAF_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sheaf::fibers {

class Stacks {
 public:
  Stacks(int count, size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#ifdef SHEAF_FIBER_ASAN
    bytes *= 8;
#endif
    each_ = std::max((bytes + page - 1) / page, size_t{1}) * page;
    length_ = page + each_ * static_cast<size_t>(count);
    void* const region =
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw os_error("reserving fiber stacks", "(memory)", errno);
    region_ = static_cast<std::byte*>(region);
    first_ = region_ + page;
    madvise(region_, length_, MADV_NOHUGEPAGE);  // a huge page would make all stacks in it resident
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
#ifdef SHEAF_FIBER_ASAN
    __asan_unpoison_memory_region(region_, length_);
#endif
    munmap(region_, length_);
  }

  size_t each() const { return each_; }

  std::byte* bottom(int task) const { return first_ + each_ * static_cast<size_t>(task); }

  // Returns the address where frames start. Stacks begin at multiples of a page. Without a different gap
  // ("color") at the top of each, the hot lines of all stacks would compete for the same few cache sets.
  std::byte* top(int task) const {
    const size_t colors = each_ >= 8192 ? 16 : 1;
    return bottom(task) + each_ - canary_bytes - 64 * (static_cast<size_t>(task) % colors);
  }

  size_t usable(int task) const { return static_cast<size_t>(top(task) - bottom(task)); }

  void set_canary(int task) { std::memcpy(bottom(task) - canary_bytes, canary.data(), canary_bytes); }

  // Ends the process if the stack of `task` overflowed. The memory below it belongs to another fiber, so
  // recovery is impossible.
  void check(int task, const void* stack_pointer) const {
    const auto* const sp = static_cast<const std::byte*>(stack_pointer);
    if (sp >= bottom(task) && sp <= top(task) &&
        std::memcmp(bottom(task) - canary_bytes, canary.data(), canary_bytes) == 0)
      return;
    std::fprintf(stderr, "sheaf: the fiber of task %d overflowed its stack of %zu bytes\n", task, each_);
    std::abort();
  }

 private:
  static constexpr size_t canary_bytes = 64;
  static constexpr std::array<uint64_t, 8> canary = {
      0x5ea7f1be45ac4a11, 0x9d3c7b1288e65f01, 0x5ea7f1be45ac4a12, 0x9d3c7b1288e65f02,
      0x5ea7f1be45ac4a13, 0x9d3c7b1288e65f03, 0x5ea7f1be45ac4a14, 0x9d3c7b1288e65f04};

  size_t each_ = 0;
  size_t length_ = 0;
  std::byte* region_ = nullptr;
  std::byte* first_ = nullptr;
};

}  // namespace sheaf::fibers

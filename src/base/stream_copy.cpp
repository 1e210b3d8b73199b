#include "base/stream_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sheaf {

#if defined(__x86_64__)

namespace {

constexpr size_t line = 64;

// Whole lines; `to` begins on one.
__attribute__((target("avx512f"))) void copy_lines(std::byte* to, const std::byte* at, size_t lines) {
  for (; lines > 0; --lines, to += line, at += line)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(at));
  _mm_sfence();
}

}  // namespace

bool copies_past_caches() {
  static const bool has_lines = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
  }();
  return has_lines;
}

void copy_past_caches(std::byte* to, std::span<const std::byte> from) {
  if (copies_past_caches()) {
    const size_t head = std::min(from.size(), (line - reinterpret_cast<uintptr_t>(to) % line) % line);
    std::memcpy(to, from.data(), head);
    const size_t lines = (from.size() - head) / line;
    copy_lines(to + head, from.data() + head, lines);
    to += head + lines * line;
    from = from.subspan(head + lines * line);
  }
  std::memcpy(to, from.data(), from.size());
}

#else

bool copies_past_caches() { return false; }
void copy_past_caches(std::byte* to, std::span<const std::byte> from) { std::memcpy(to, from.data(), from.size()); }

#endif

}  // namespace sheaf

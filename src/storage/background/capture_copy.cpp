#include "storage/background/capture_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/assert.hpp"
#include "storage/background/constants.hpp"

namespace sheaf {

namespace {

#ifdef __SSE2__
constexpr size_t line = 64;  // bytes of a cache line

// Copies with stores that write whole cache lines to memory, without reading them first.
void stream_bytes(std::byte* to, const std::byte* from, size_t size) {
  const size_t head = std::min(size, (line - reinterpret_cast<uintptr_t>(to) % line) % line);
  std::memcpy(to, from, head);
  const size_t whole = head + (size - head) / line * line;
  for (size_t at = head; at < whole; at += line) {
    const auto load = [&](size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at) + i);
    };
    const auto store = [&](size_t i, __m128i value) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at) + i, value);
    };
    const __m128i values[] = {load(0), load(1), load(2), load(3)};
    _mm_prefetch(reinterpret_cast<const char*>(from + at) + 16 * line, _MM_HINT_T0);
    for (size_t i = 0; i < 4; ++i) store(i, values[i]);
  }
  std::memcpy(to + whole, from + whole, size - whole);
  _mm_sfence();  // other threads see the bytes before what this thread writes next
}
#else
void stream_bytes(std::byte* to, const std::byte* from, size_t size) { std::memcpy(to, from, size); }
#endif

}  // namespace

void capture_bytes(std::span<std::byte> to, std::span<const std::byte> from, CapturedSums* sums) {
  SHEAF_ASSERT(to.size() == from.size());
  using background_constants::copied_at_once;
  const bool streams = from.size() >= copied_at_once;
  for (size_t at = 0; at < from.size(); at += copied_at_once) {
    const auto part = from.subspan(at, std::min(copied_at_once, from.size() - at));
    if (streams)
      stream_bytes(to.data() + at, part.data(), part.size());
    else
      std::memcpy(to.data() + at, part.data(), part.size());
    if (sums) sums->append(part);
  }
}

}  // namespace sheaf

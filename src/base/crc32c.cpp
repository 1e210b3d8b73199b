#include "base/crc32c.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/assert.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace sheaf {

namespace {

// Polynomials of degree 31 or less are stored reflected: the highest bit is the coefficient of 1.
constexpr uint32_t one = 0x80000000;

// Multiplies by x modulo the CRC32C polynomial.
constexpr uint32_t times_x(uint32_t a) { return (a >> 1) ^ (0x82f63b78 & (0u - (a & 1))); }

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1, b = times_x(b)) sum ^= b & (0u - (a >> 31));  // without unpredictable branches
  return sum;
}

// Tables of x^(8 n) for each value n of the lowest byte of a length, and of x^(8 * 256 n) for each value n of
// the next one. Lengths below 64 KiB, common where blocks are updated in place, take only two products.
constexpr auto powers = [] {
  std::array<std::array<uint32_t, 256>, 2> p{};
  uint32_t step = one >> 8;
  for (auto& table : p) {
    table[0] = one;
    for (size_t i = 1; i < table.size(); ++i) table[i] = product(table[i - 1], step);
    step = product(table[255], step);
  }
  return p;
}();

// Tables for one byte at a time; table k gives the effect of a byte that k more bytes follow.
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t v = i;
    for (int bit = 0; bit < 8; ++bit) v = times_x(v);
    t[0][i] = v;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  return t;
}();

uint32_t update_by_table(uint32_t state, const std::byte* at, size_t bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(at[i]); };
  for (; bytes >= 8; at += 8, bytes -= 8) {
    state ^= byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    state = tables[7][state & 0xff] ^ tables[6][state >> 8 & 0xff] ^ tables[5][state >> 16 & 0xff] ^
            tables[4][state >> 24] ^ tables[3][byte(4)] ^ tables[2][byte(5)] ^ tables[1][byte(6)] ^
            tables[0][byte(7)];
  }
  for (; bytes > 0; ++at, --bytes) state = (state >> 8) ^ tables[0][(state ^ byte(0)) & 0xff];
  return state;
}

[[maybe_unused]] uint64_t word_at(const std::byte* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)

// Returns x^n.
constexpr uint32_t power(int64_t n) {
  uint32_t v = one;
  while (n-- > 0) v = times_x(v);
  return v;
}

__attribute__((target("sse4.2,crc32"))) uint32_t update_words(uint32_t state, const std::byte* at,
                                                              size_t bytes) {
  uint64_t wide = state;
  for (; bytes >= 8; at += 8, bytes -= 8) wide = _mm_crc32_u64(wide, word_at(at));
  state = static_cast<uint32_t>(wide);
  for (; bytes > 0; ++at, --bytes) state = _mm_crc32_u8(state, static_cast<uint8_t>(*at));
  return state;
}

// Processes three lanes at a time, because the instruction has a throughput of one per cycle but a latency of
// three. A multiplication with a power of x moves the states of the first two lanes past the lanes that
// follow.
__attribute__((target("sse4.2,crc32,pclmul"))) uint32_t update_by_lanes(uint32_t state, const std::byte* at,
                                                                        size_t bytes) {
  constexpr size_t lane = 1344;
  constexpr uint32_t over_two = power(8 * (2 * int64_t{lane}) - 33);
  constexpr uint32_t over_one = power(8 * int64_t{lane} - 33);
  for (; bytes >= 3 * lane; at += 3 * lane, bytes -= 3 * lane) {
    uint64_t a = state, b = 0, c = 0;
    for (size_t i = 0; i < lane; i += 8) {
      a = _mm_crc32_u64(a, word_at(at + i));
      b = _mm_crc32_u64(b, word_at(at + lane + i));
      c = _mm_crc32_u64(c, word_at(at + 2 * lane + i));
    }
    const auto moved = [](uint64_t from, uint32_t by) __attribute__((target("sse4.2,crc32,pclmul"))) {
      const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(from)),
                                                   _mm_cvtsi32_si128(static_cast<int>(by)), 0);
      return _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product)));
    };
    state = static_cast<uint32_t>(moved(a, over_two) ^ moved(b, over_one) ^ c);
  }
  return update_words(state, at, bytes);
}

#define SHEAF_WIDE __attribute__((target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.2,crc32")))

// Moves each 128-bit part of `value` forward by the number of bytes that the two powers in `by` represent,
// and adds `next`.
SHEAF_WIDE inline __m512i folded(__m512i value, __m512i by, __m512i next) {
  const __m512i low = _mm512_clmulepi64_epi128(value, by, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(value, by, 0x11);
  return _mm512_ternarylogic_epi64(low, high, next, 0x96);
}

SHEAF_WIDE inline __m512i powers_for(uint32_t low, uint32_t high) {
  alignas(64) const uint64_t both[8] = {low, high, low, high, low, high, low, high};
  return _mm512_load_si512(both);
}

constexpr size_t prefetched_ahead = 768;

struct Line256 {
  __m512i a, b, c, d;
};

// Folds four registers of 64 bytes at a time (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009). Requires at least 256 bytes. Advances `at` and leaves fewer than
// 256 bytes.
SHEAF_WIDE inline uint32_t fold(uint32_t state, const std::byte*& at, size_t& bytes) {
  constexpr auto low = [](int64_t distance) { return power(8 * distance + 31); };
  constexpr auto high = [](int64_t distance) { return power(8 * distance - 33); };
  constexpr uint32_t low256 = low(256), high256 = high(256), low64 = low(64), high64 = high(64);
  constexpr uint32_t low16 = low(16), high16 = high(16);
  const auto next = [&]() SHEAF_WIDE {
    const Line256 v = {_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64), _mm512_loadu_si512(at + 128),
                       _mm512_loadu_si512(at + 192)};
    at += 256, bytes -= 256;
    return v;
  };
  auto [a, b, c, d] = next();
  a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  const __m512i by256 = powers_for(low256, high256);
  while (bytes >= 256) {
    for (size_t line = 0; line < 256; line += 64)  // the hardware prefetcher stops at page boundaries
      _mm_prefetch(reinterpret_cast<const char*>(at) + prefetched_ahead + line, _MM_HINT_T0);
    const Line256 v = next();
    a = folded(a, by256, v.a);
    b = folded(b, by256, v.b);
    c = folded(c, by256, v.c);
    d = folded(d, by256, v.d);
  }
  const __m512i by64 = powers_for(low64, high64);
  a = folded(folded(folded(a, by64, b), by64, c), by64, d);
  __m128i parts[4];
  std::memcpy(parts, &a, sizeof parts);
  const __m128i by16 = _mm_setr_epi32(static_cast<int>(low16), 0, static_cast<int>(high16), 0);
  __m128i sum = parts[0];
  for (int i = 1; i < 4; ++i)
    sum = _mm_xor_si128(
        _mm_xor_si128(_mm_clmulepi64_si128(sum, by16, 0x00), _mm_clmulepi64_si128(sum, by16, 0x11)),
        parts[i]);
  uint64_t wide = _mm_crc32_u64(0, static_cast<uint64_t>(_mm_extract_epi64(sum, 0)));
  wide = _mm_crc32_u64(wide, static_cast<uint64_t>(_mm_extract_epi64(sum, 1)));
  return static_cast<uint32_t>(wide);
}

SHEAF_WIDE uint32_t update_by_folding(uint32_t state, const std::byte* at, size_t bytes) {
  if (bytes >= 512) state = fold(state, at, bytes);
  return update_words(state, at, bytes);
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t update_words(uint32_t state, const std::byte* at, size_t bytes) {
  for (; bytes >= 8; at += 8, bytes -= 8) state = __crc32cd(state, word_at(at));
  for (; bytes > 0; ++at, --bytes) state = __crc32cb(state, static_cast<uint8_t>(*at));
  return state;
}

#endif

std::vector<Crc32cWay> find_ways() {
  std::vector<Crc32cWay> ways;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool words = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  if (words && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq"))
    ways.push_back({"avx512", update_by_folding});
  if (words) ways.push_back({"sse4.2", update_by_lanes});
#elif defined(__aarch64__)
  constexpr unsigned long has_crc32 = 1ul << 7;  // HWCAP_CRC32
  if (getauxval(AT_HWCAP) & has_crc32) ways.push_back({"armv8", update_words});
#endif
  ways.push_back({"table", update_by_table});
  return ways;
}

}  // namespace

std::span<const Crc32cWay> crc32c_ways() {
  static const std::vector<Crc32cWay> ways = find_ways();
  return ways;
}

uint32_t crc32c(uint32_t sum, std::span<const std::byte> bytes) {
  static const auto update = crc32c_ways().front().update;
  return ~update(~sum, bytes.data(), bytes.size());
}

// Each following byte multiplies the preceding ones by x^8.
uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t length) {
  SHEAF_DEBUG_ASSERT(length >= 0);
  if (const auto low = length & 0xff) first = product(powers[0][static_cast<size_t>(low)], first);
  if (const auto high = length >> 8 & 0xff) first = product(powers[1][static_cast<size_t>(high)], first);
  length >>= 16;
  uint32_t factor = length == 0 ? 0 : product(powers[1][255], powers[1][1]);
  for (; length > 0 && first != 0; length >>= 1, factor = product(factor, factor))
    if (length & 1) first = product(factor, first);
  return first ^ second;
}

}  // namespace sheaf

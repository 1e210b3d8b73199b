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
#include <arm_neon.h>
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

#if defined(__x86_64__) || defined(__aarch64__)

// Returns x^n.
constexpr uint32_t power(int64_t n) {
  uint32_t v = one;
  while (n-- > 0) v = times_x(v);
  return v;
}

#if defined(__x86_64__)

#define SHEAF_WORDS __attribute__((target("sse4.2,crc32")))
#define SHEAF_LANES __attribute__((target("sse4.2,crc32,pclmul")))

SHEAF_WORDS inline uint64_t with_word(uint64_t state, uint64_t word) { return _mm_crc32_u64(state, word); }
SHEAF_WORDS inline uint32_t with_byte(uint32_t state, std::byte byte) {
  return _mm_crc32_u8(state, static_cast<uint8_t>(byte));
}
SHEAF_LANES inline uint64_t long_product(uint32_t a, uint32_t b) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(
      _mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0)));
}

#else

#define SHEAF_WORDS __attribute__((target("+crc")))
#define SHEAF_LANES __attribute__((target("+crc+crypto")))

SHEAF_WORDS inline uint64_t with_word(uint64_t state, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(state), word);
}
SHEAF_WORDS inline uint32_t with_byte(uint32_t state, std::byte byte) {
  return __crc32cb(state, static_cast<uint8_t>(byte));
}
SHEAF_LANES inline uint64_t long_product(uint32_t a, uint32_t b) {
  return static_cast<uint64_t>(vmull_p64(a, b));  // the upper half is 0
}

#endif

SHEAF_WORDS uint32_t update_words(uint32_t state, const std::byte* at, size_t bytes) {
  uint64_t wide = state;
  for (; bytes >= 8; at += 8, bytes -= 8) wide = with_word(wide, word_at(at));
  state = static_cast<uint32_t>(wide);
  for (; bytes > 0; ++at, --bytes) state = with_byte(state, *at);
  return state;
}

// Three lanes of equal length that are processed at the same time, because the instruction has a throughput
// of one per cycle but a latency of up to three.
struct Lanes {
  uint64_t a, b, c;
};

template <size_t lane>
SHEAF_LANES inline void add_words(Lanes& states, const std::byte* at) {
  states.a = with_word(states.a, word_at(at));
  states.b = with_word(states.b, word_at(at + lane));
  states.c = with_word(states.c, word_at(at + 2 * lane));
}

// Moves a state past `bytes` bytes of data.
template <size_t bytes>
SHEAF_LANES inline uint64_t moved(uint64_t state) {
  constexpr uint32_t by = power(8 * int64_t{bytes} - 33);
  return with_word(0, long_product(static_cast<uint32_t>(state), by));
}

template <size_t lane>
SHEAF_LANES inline uint32_t joined(const Lanes& states) {
  return static_cast<uint32_t>(moved<2 * lane>(states.a) ^ moved<lane>(states.b) ^ states.c);
}

SHEAF_LANES uint32_t update_by_lanes(uint32_t state, const std::byte* at, size_t bytes) {
  constexpr size_t lane = 1344;
  for (; bytes >= 3 * lane; at += 3 * lane, bytes -= 3 * lane) {
    Lanes states = {state, 0, 0};
    for (size_t i = 0; i < lane; i += 8) add_words<lane>(states, at + i);
    state = joined<lane>(states);
  }
  return update_words(state, at, bytes);
}

#endif

#if defined(__x86_64__)

#define SHEAF_WIDE256 __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2,crc32")))

// Factors that move the halves of a 128-bit value past `distance` bytes.
struct FoldBy {
  uint32_t low, high;
};
constexpr FoldBy fold_by(int64_t distance) { return {power(8 * distance + 31), power(8 * distance - 33)}; }

// Moves each 128-bit part of `value` forward by the number of bytes that the factors in `by` represent, and
// adds `next`.
SHEAF_WIDE256 inline __m256i folded(__m256i value, __m256i by, __m256i next) {
  const __m256i low = _mm256_clmulepi64_epi128(value, by, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(value, by, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}
SHEAF_LANES inline __m128i folded(__m128i value, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(value, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

SHEAF_LANES inline __m128i factors(FoldBy by) { return _mm_set_epi64x(by.high, by.low); }
SHEAF_LANES inline __m128i load128(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
SHEAF_WIDE256 inline __m256i load256(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Returns the state after the 16 bytes of `value`.
SHEAF_LANES inline uint32_t state_of(__m128i value) {
  const uint64_t wide = with_word(0, static_cast<uint64_t>(_mm_extract_epi64(value, 0)));
  return static_cast<uint32_t>(with_word(wide, static_cast<uint64_t>(_mm_extract_epi64(value, 1))));
}

// The next two functions process blocks of 16 KiB. The first part of a block is folded, like in fold() below,
// while the rest passes through three lanes, because many processors have separate units for the two kinds of
// instructions.

// A step folds 64 bytes and adds 16 bytes to each lane. Zen 1 folds 4 bytes per cycle or adds 2.7, in one
// unit, so there the lanes cost no time and gain none.
SHEAF_LANES uint32_t update_by_narrow_folding_and_lanes(uint32_t state, const std::byte* at, size_t bytes) {
  constexpr size_t steps = 146, step = 64, words = 2, lane = steps * words * 8;
  constexpr size_t block = steps * step + 3 * lane;
  static_assert(block <= 16 << 10 && (16 << 10) - block < 64);
  constexpr FoldBy by_step = fold_by(step), by_16 = fold_by(16);
  for (; bytes >= block; at += block, bytes -= block) {
    const __m128i by = factors(by_step), by16 = factors(by_16);
    const std::byte* word = at + steps * step;
    Lanes states = {0, 0, 0};
    __m128i a = load128(at), b = load128(at + 16), c = load128(at + 32), d = load128(at + 48);
    a = _mm_xor_si128(a, _mm_cvtsi32_si128(static_cast<int>(state)));
    for (size_t i = 1; i <= steps; ++i) {
#pragma GCC unroll 8
      for (size_t w = 0; w < words; ++w, word += 8) add_words<lane>(states, word);
      if (i == steps) break;
      const std::byte* const next = at + i * step;
      a = folded(a, by, load128(next));
      b = folded(b, by, load128(next + 16));
      c = folded(c, by, load128(next + 32));
      d = folded(d, by, load128(next + 48));
    }
    const uint32_t first = state_of(folded(folded(folded(a, by16, b), by16, c), by16, d));
    state = static_cast<uint32_t>(moved<3 * lane>(first)) ^ joined<lane>(states);
  }
  return update_by_lanes(state, at, bytes);
}

// A step folds 128 bytes and adds 40 bytes to each lane. Either way alone processes 8 bytes per cycle.
SHEAF_WIDE256 uint32_t update_by_folding_and_lanes(uint32_t state, const std::byte* at, size_t bytes) {
  constexpr size_t steps = 66, step = 128, words = 5, lane = steps * words * 8;
  constexpr size_t block = steps * step + 3 * lane;
  static_assert(block <= 16 << 10 && (16 << 10) - block < 32);
  constexpr FoldBy by_step = fold_by(step), by_32 = fold_by(32), by_16 = fold_by(16);
  for (; bytes >= block; at += block, bytes -= block) {
    const __m256i by = _mm256_broadcastsi128_si256(factors(by_step));
    const std::byte* word = at + steps * step;
    Lanes states = {0, 0, 0};
    __m256i a = load256(at), b = load256(at + 32), c = load256(at + 64), d = load256(at + 96);
    a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(state))));
    for (size_t i = 1; i <= steps; ++i) {
#pragma GCC unroll 8
      for (size_t w = 0; w < words; ++w, word += 8) add_words<lane>(states, word);
      if (i == steps) break;
      const std::byte* const next = at + i * step;
      a = folded(a, by, load256(next));
      b = folded(b, by, load256(next + 32));
      c = folded(c, by, load256(next + 64));
      d = folded(d, by, load256(next + 96));
    }
    const __m256i by32 = _mm256_broadcastsi128_si256(factors(by_32));
    const __m256i sum = folded(folded(folded(a, by32, b), by32, c), by32, d);
    const uint32_t first =
        state_of(folded(_mm256_castsi256_si128(sum), factors(by_16), _mm256_extracti128_si256(sum, 1)));
    state = static_cast<uint32_t>(moved<3 * lane>(first)) ^ joined<lane>(states);
  }
  return update_by_lanes(state, at, bytes);
}

#define SHEAF_WIDE512 __attribute__((target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.2,crc32")))

SHEAF_WIDE512 inline __m512i folded(__m512i value, __m512i by, __m512i next) {
  const __m512i low = _mm512_clmulepi64_epi128(value, by, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(value, by, 0x11);
  return _mm512_ternarylogic_epi64(low, high, next, 0x96);
}

SHEAF_WIDE512 inline __m512i factors512(FoldBy by) {
  alignas(64) const uint64_t all[8] = {by.low, by.high, by.low, by.high, by.low, by.high, by.low, by.high};
  return _mm512_load_si512(all);
}

constexpr size_t prefetched_ahead = 768;

struct Line256 {
  __m512i a, b, c, d;
};

// Folds four registers of 64 bytes at a time (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009). Requires at least 256 bytes. Advances `at` and leaves fewer than
// 256 bytes.
SHEAF_WIDE512 inline uint32_t fold(uint32_t state, const std::byte*& at, size_t& bytes) {
  constexpr FoldBy by_256 = fold_by(256), by_64 = fold_by(64), by_16 = fold_by(16);
  const auto next = [&]() SHEAF_WIDE512 {
    const Line256 v = {_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64), _mm512_loadu_si512(at + 128),
                       _mm512_loadu_si512(at + 192)};
    at += 256, bytes -= 256;
    return v;
  };
  auto [a, b, c, d] = next();
  a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  const __m512i by256 = factors512(by_256);
  while (bytes >= 256) {
    for (size_t line = 0; line < 256; line += 64)  // the hardware prefetcher stops at page boundaries
      _mm_prefetch(reinterpret_cast<const char*>(at) + prefetched_ahead + line, _MM_HINT_T0);
    const Line256 v = next();
    a = folded(a, by256, v.a);
    b = folded(b, by256, v.b);
    c = folded(c, by256, v.c);
    d = folded(d, by256, v.d);
  }
  const __m512i by64 = factors512(by_64);
  a = folded(folded(folded(a, by64, b), by64, c), by64, d);
  __m128i parts[4];
  std::memcpy(parts, &a, sizeof parts);
  const __m128i by16 = factors(by_16);
  __m128i sum = parts[0];
  for (int i = 1; i < 4; ++i) sum = folded(sum, by16, parts[i]);
  return state_of(sum);
}

SHEAF_WIDE512 uint32_t update_by_folding(uint32_t state, const std::byte* at, size_t bytes) {
  if (bytes >= 512) state = fold(state, at, bytes);
  return update_words(state, at, bytes);
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
  if (words && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq"))
    ways.push_back({"avx2", update_by_folding_and_lanes});
  if (words) ways.push_back({"sse4.2", update_by_narrow_folding_and_lanes});
#elif defined(__aarch64__)
  const unsigned long found = getauxval(AT_HWCAP);
  constexpr unsigned long has_pmull = 1ul << 4, has_crc32 = 1ul << 7;  // HWCAP_PMULL, HWCAP_CRC32
  if ((found & has_crc32) && (found & has_pmull)) ways.push_back({"armv8-pmull", update_by_lanes});
  if (found & has_crc32) ways.push_back({"armv8", update_words});
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

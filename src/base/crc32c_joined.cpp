#include "base/crc32c.hpp"

namespace sheaf {

namespace {

// Polynomials of degree 31 and less, reflected: the highest bit is the coefficient of 1.
constexpr uint32_t one = 0x80000000;
constexpr uint32_t x_to_the_8 = one >> 8;

constexpr uint32_t times_x(uint32_t a) { return (a >> 1) ^ (a & 1 ? 0x82f63b78 : 0); }

// Product modulo the polynomial of CRC32C.
uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1, b = times_x(b))
    if (a & one) sum ^= b;
  return sum;
}

}  // namespace

// Bytes that follow multiply what came before them by x^8 each.
uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t length) {
  for (uint32_t power = x_to_the_8; length > 0 && first != 0; length >>= 1, power = product(power, power))
    if (length & 1) first = product(power, first);
  return first ^ second;
}

}  // namespace sheaf

// base/crc32c: CRC32C (Castagnoli, RFC 3720 appendix B.4), by the widest instructions the machine has.
//
// Own code rather than a library: it is this one function, and a dependency would have to be on the link line
// of every program that uses the static library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf {

// Sum of what `sum` is the sum of (0: nothing), followed by `bytes`. Any thread.
uint32_t crc32c(uint32_t sum, std::span<const std::byte> bytes);

// The ways there are on this machine, the one that crc32c() takes first; for tests and measurements.
struct Crc32cWay {
  const char* name;
  uint32_t (*update)(uint32_t state, const std::byte* at, size_t bytes);  // state: the inverted sum
};
std::span<const Crc32cWay> crc32c_ways();

}  // namespace sheaf

// base/crc32c: CRC32C (Castagnoli, RFC 3720 appendix B.4), using the widest instructions of this machine.
//
// Implemented here rather than taken from a library: it is a single function, and every program that uses the
// static library would have to link the dependency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/export.hpp"

namespace sheaf {

// Extends the checksum `sum` (0 for no bytes) by `bytes`. Any thread.
uint32_t crc32c(uint32_t sum, std::span<const std::byte> bytes);

// Returns the checksum of a concatenation, given the checksum `first` of its first part and the checksum
// `second` of the following `length` bytes.
SHEAF_EXPORT uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t length);

// Returns the implementations available on this machine, the one used by crc32c() first. For tests and
// benchmarks.
struct Crc32cWay {
  const char* name;
  uint32_t (*update)(uint32_t state, const std::byte* at, size_t bytes);  // state: the inverted checksum
};
std::span<const Crc32cWay> crc32c_ways();

}  // namespace sheaf

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

// Returns the checksum of some bytes followed by `bytes`; `sum` is the checksum of the preceding ones, 0 if
// there are none. Any thread may call it.
uint32_t crc32c(uint32_t sum, std::span<const std::byte> bytes);

// Returns the checksum of a concatenation, given the checksum `first` of its first part and the checksum
// `second` of the following `length` bytes.
SHEAF_EXPORT uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t length);

// An implementation of crc32c().
struct Crc32cWay {
  const char* name;
  uint32_t (*update)(uint32_t state, const std::byte* at, size_t bytes);  // state: the inverted checksum
};
// Returns the implementations available on this machine; crc32c() uses the first one. For tests and
// benchmarks.
std::span<const Crc32cWay> crc32c_ways();

}  // namespace sheaf

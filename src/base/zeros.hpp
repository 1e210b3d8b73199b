// base/zeros: bytes that may be a hole of a file.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace sheaf {

// Whether all are zero, which none are too. As fast as the C library compares.
inline bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace sheaf

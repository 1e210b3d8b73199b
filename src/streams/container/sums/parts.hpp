// streams/container/sums/parts: computes checksums over several memory segments of one write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "base/crc32c.hpp"

namespace sheaf::streams {

using WriteParts = std::span<const std::span<const std::byte>>;

// Returns the checksum of bytes [begin, end) of the concatenated parts, continuing from the checksum `sum`.
inline uint32_t sum_of_parts(WriteParts parts, int64_t begin, int64_t end, uint32_t sum = 0) {
  for (const auto& part : parts) {
    const int64_t size = std::ssize(part);
    const int64_t from = std::clamp<int64_t>(begin, 0, size), to = std::clamp<int64_t>(end, from, size);
    sum = crc32c(sum, part.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
    begin -= size;
    end -= size;
  }
  return sum;
}

}  // namespace sheaf::streams

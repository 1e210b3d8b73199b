// format/codec/shuffle: groups the bytes of array elements by their significance, which improves compression
// (docs/format.md, section 14.4).
#pragma once

#include <cstddef>
#include <span>

namespace sheaf::codec {

// Byte b of element i of `data` becomes byte b*n + i of `out`, for n = data.size() / element complete
// elements. The remaining bytes keep their position. `out` has the size of `data` and must not overlap it;
// element > 0.
void shuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);

}  // namespace sheaf::codec

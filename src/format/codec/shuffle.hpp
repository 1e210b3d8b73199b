// format/codec/shuffle: groups the bytes of array elements by their significance, which improves compression
// (docs/format.md, section 14.4).
#pragma once

#include <cstddef>
#include <span>

namespace sheaf::codec {

// shuffle() copies byte b of element i of `data` to byte b*n + i of `out`, where n = data.size() / element is
// the number of complete elements. The remaining bytes keep their position. unshuffle() is the inverse.
// `element`, the bytes of an element, must be > 0. `out` must have the size of `data` and not overlap it.
void shuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);

}  // namespace sheaf::codec

// codec/shuffle: the bytes of equal weight of all elements of an array brought together, which compress
// better than the elements themselves (docs/format.md, section 14.4).
#pragma once

#include <cstddef>
#include <span>

namespace sheaf::codec {

// Byte b of element i of `data` becomes byte b*n + i of `out`, for n = data.size() / element whole elements;
// what is left behind them stays where it is. `out` is as large as `data` and does not overlap it; element >
// 0.
void shuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out);

}  // namespace sheaf::codec

#include "format/codec/shuffle.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/assert.hpp"

namespace sheaf::codec {

namespace {

// Elements per strip. A strip and the part of the output that it fills fit in the L1 cache.
constexpr size_t strip = 512;

// Groups the bytes of elements or, with `Back`, restores the elements. `Width` is the element size if it is
// known at compile time, which makes common sizes much faster; otherwise it is 0.
template <bool Back, size_t Width>
void transpose(const std::byte* from, std::byte* to, size_t elements, size_t width) {
  const size_t w = Width ? Width : width;
  for (size_t first = 0; first < elements; first += strip) {
    const size_t end = std::min(elements, first + strip);
    for (size_t b = 0; b < w; ++b)
      for (size_t i = first; i < end; ++i) {
        if constexpr (Back)
          to[i * w + b] = from[b * elements + i];
        else
          to[b * elements + i] = from[i * w + b];
      }
  }
}

template <bool Back>
void run(std::span<const std::byte> data, size_t element, std::span<std::byte> out) {
  SHEAF_ASSERT(element > 0 && out.size() == data.size());
  SHEAF_ASSERT(std::less_equal{}(data.data() + data.size(), out.data()) ||
               std::less_equal{}(out.data() + out.size(), data.data()));  // no overlap
  const auto transpose_elements = element == 2   ? transpose<Back, 2>
                                  : element == 4 ? transpose<Back, 4>
                                  : element == 8 ? transpose<Back, 8>
                                                 : transpose<Back, 0>;
  transpose_elements(data.data(), out.data(), data.size() / element, element);
  const size_t rest = data.size() % element;
  if (rest > 0) std::memcpy(out.data() + out.size() - rest, data.data() + data.size() - rest, rest);
}

}  // namespace

void shuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out) {
  run<false>(data, element, out);
}
void unshuffle(std::span<const std::byte> data, size_t element, std::span<std::byte> out) {
  run<true>(data, element, out);
}

}  // namespace sheaf::codec

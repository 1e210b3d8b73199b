// exchange/pieces/access_list: segments that one task transfers on behalf of many, sorted and merged into
// few, large file requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/extent.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Writes `pieces`. Where segments overlap, the later one in the list wins. If no segments overlap, passes all
// of them to the file in one call, sorted by offset. Throws the errors of the file, after which any subset of
// the segments may have been written.
void write_pieces(File& file, std::vector<Piece<const std::byte>> pieces);

// Fills `pieces`, which may overlap. Reads segments together unless the gap between them is at least `gap`
// bytes. Throws damaged if the file ends early.
void read_pieces(File& file, std::vector<Piece<std::byte>> pieces, int64_t gap);

// Memory for the bytes of several file extents, concatenated.
template <class Byte>
struct Placed {
  std::span<const Extent> extents;
  std::span<Byte> memory;
};

// Appends the segments of `placed` to `to`. The memory begins with byte `from` of the extents and may end
// before they do; it must outlive the use of `to`.
template <class Byte>
void add_pieces(std::vector<Piece<Byte>>& to, const Placed<Byte>& placed, int64_t from = 0) {
  SHEAF_ASSERT(from >= 0);
  std::span<Byte> memory = placed.memory;
  for (const Extent& extent : placed.extents) {
    if (memory.empty()) return;
    if (from < extent.length) {
      const size_t bytes = std::min(memory.size(), static_cast<size_t>(extent.length - from));
      to.push_back({extent.offset + from, memory.first(bytes)});
      memory = memory.subspan(bytes);
    }
    from = std::max<int64_t>(0, from - extent.length);
  }
}

}  // namespace sheaf::exchange

// exchange/pieces/access_list: the pieces of a file that one task touches for many, sorted and merged so that
// the file sees few, large requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/extent.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Writes pieces, of which later ones win where they overlap. Where they do not, the file gets
// them together, in its order. Throws what the file throws; which of the pieces are in the file is then
// open.
void write_pieces(File& file, std::vector<Piece<const std::byte>> pieces);

// Fills pieces; runs of neighbours (overlap allowed) that are at least as long as `gap` apart are read on
// their own, others together. Throws damaged if the file ends before.
void read_pieces(File& file, std::vector<Piece<std::byte>> pieces, int64_t gap);

// Bytes in memory and where in the file they belong: those of the extents, one behind the other.
template <class Byte>
struct Placed {
  std::span<const Extent> extents;
  std::span<Byte> memory;
};

// Adds pieces of `placed`, whose memory begins with byte `from` of the extents and may end before they do. It
// must outlive the use of the pieces.
template <class Byte>
void add_pieces(std::vector<Piece<Byte>>& to, const Placed<Byte>& placed, int64_t from = 0) {
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

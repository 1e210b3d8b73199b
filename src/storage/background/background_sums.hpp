// storage/background/background_sums: checksums of bytes that are written in order, computed beside the
// program (File::begin_sums).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/crc32c.hpp"

namespace sheaf {

// The checksums of the bytes from `origin` on. The lock of the BackgroundWriter guards all members; follow()
// and the copying of bytes run without it.
struct BackgroundSums {
  BackgroundSums(int64_t from, uint32_t bytes_of_piece)
      : origin(from), piece(bytes_of_piece), captured(from), summed(from) {}

  const int64_t origin;
  const uint32_t piece;             // bytes
  int64_t captured;                 // end of the bytes captured in order
  int64_t summed;                   // end of those that are in `sums` and `running`
  bool is_broken = false;           // the bytes were not written in order, or not through captured memory
  uint32_t running = 0;             // of the partial piece before `summed`
  std::vector<uint32_t> sums = {};  // of whole pieces

  // Returns true if a write at `offset` continues the bytes captured in order.
  bool continues(int64_t offset) {
    if (offset >= origin && offset < captured) is_broken = true;
    return offset == captured && !is_broken;
  }

  // What the bytes that follow `summed` add.
  struct Following {
    int64_t end;
    uint32_t running;
    std::vector<uint32_t> whole = {};
  };
  // Sums the bytes after `start`, a copy of the state before them.
  static Following follow(Following start, int64_t origin, uint32_t piece, std::span<const std::byte> bytes) {
    start.whole.clear();
    while (!bytes.empty()) {
      const int64_t in_piece = (start.end - origin) % piece;
      const auto part = bytes.first(static_cast<size_t>(std::min(piece - in_piece, std::ssize(bytes))));
      start.running = crc32c(in_piece == 0 ? 0 : start.running, part);
      start.end += std::ssize(part);
      if ((start.end - origin) % piece == 0) start.whole.push_back(start.running);
      bytes = bytes.subspan(part.size());
    }
    return start;
  }
  void append(const Following& more) {
    sums.insert(sums.end(), more.whole.begin(), more.whole.end());
    summed = more.end;
    running = more.running;
  }

  // Stores the checksums of all captured bytes, which must be summed. `result` has room for all of them.
  void copy(std::span<uint32_t> result) const {
    std::ranges::copy(sums, result.begin());
    if ((summed - origin) % piece != 0) result.back() = running;
  }
};

}  // namespace sheaf

// layout/piece_map: maps the bytes of a stream to their locations. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.hpp"

namespace sheaf::layout {

// Bytes of a stream that are stored contiguously.
struct StreamPiece {
  int64_t length = 0;
  int64_t place = 0;    // offset in the container, or in the task's stream of a multifile
  uint32_t source = 0;  // index of the source among those of a set
  int64_t task = -1;    // task of a multifile
  uint64_t tag = 0;     // value for the user of the map

  StreamPiece from(int64_t skipped) const { return {length - skipped, place + skipped, source, task, tag}; }
};

class PieceMap {
 public:
  using Map = std::map<int64_t, StreamPiece>;  // by offset in the stream; without overlaps

  const Map& all() const { return pieces_; }
  void clear() { pieces_.clear(); }

  // Adds a piece and replaces what it overlaps.
  void put(int64_t offset, const StreamPiece& piece) {
    if (piece.length <= 0) return;
    erase(offset, offset + piece.length);
    pieces_.insert_or_assign(offset, piece);
  }

  // Extends the piece at `offset` to `length` bytes. The added bytes must have been a gap.
  void grow(int64_t offset, int64_t length) {
    SHEAF_DEBUG_ASSERT(pieces_.contains(offset) && length >= pieces_.at(offset).length);
    SHEAF_DEBUG_ASSERT(pieces_.upper_bound(offset) == pieces_.end() ||
                       pieces_.upper_bound(offset)->first - offset >= length);
    pieces_.find(offset)->second.length = length;
  }

  // Removes everything from `size` on.
  void cut(int64_t size) { erase(size, INT64_MAX); }

  // A piece, or a gap, that starts at a given offset.
  struct PieceOrGap {
    bool found = false;  // false: a gap
    StreamPiece piece;   // for a gap, only its length is set
  };
  // Returns the rest of the piece that contains `offset`, or the gap from `offset` to the next piece or
  // INT64_MAX.
  PieceOrGap at(int64_t offset) const {
    const auto next = pieces_.upper_bound(offset);
    if (next != pieces_.begin()) {
      const auto& [begin, piece] = *std::prev(next);
      if (offset - begin < piece.length) return {true, piece.from(offset - begin)};
    }
    return {false, {.length = next == pieces_.end() ? INT64_MAX - offset : next->first - offset}};
  }

 private:
  void erase(int64_t begin, int64_t end) {
    auto at = pieces_.lower_bound(begin);
    if (at != pieces_.begin()) {
      const auto before = std::prev(at);
      const int64_t before_end = before->first + before->second.length;
      if (before_end > end) at = pieces_.emplace_hint(at, end, before->second.from(end - before->first));
      if (before_end > begin) before->second.length = begin - before->first;
    }
    while (at != pieces_.end() && at->first < end) {
      if (at->second.length > end - at->first) {
        pieces_.emplace(end, at->second.from(end - at->first));
        pieces_.erase(at);
        return;
      }
      at = pieces_.erase(at);
    }
  }

  Map pieces_;
};

}  // namespace sheaf::layout

// layout/each_piece: visits the pieces of a type map one by one, for callers that need not distinguish the
// groups of pieces that a PieceVisitor receives.
#pragma once

#include "layout/type_map.hpp"

namespace sheaf::layout {

// Calls piece(offset, length) for every piece of data bytes [from, to) of consecutive instances of `type`, in
// order. `base` is the offset of the first instance (TypeMap::visit()).
template <class Piece>
void for_each_piece(const TypeMap& type, int64_t base, int64_t from, int64_t to, Piece piece) {
  struct Each final : PieceVisitor {
    explicit Each(Piece& given) : call(given) {}
    void run(const Run& run) override {
      for (int64_t i = 0, at = run.offset; i < run.count; ++i, at += run.stride) call(at, run.length);
    }
    void equal(const EqualBlocks& blocks) override {
      for (const int64_t offset : blocks.offsets) call(blocks.base + offset, blocks.length);
    }
    void blocks(const Blocks& blocks) override {
      for (size_t i = 0; i < blocks.offsets.size(); ++i)
        call(blocks.base + blocks.offsets[i], blocks.starts[i + 1] - blocks.starts[i]);
    }
    Piece& call;
  };
  Each each(piece);
  type.visit(base, from, to, each);
}

}  // namespace sheaf::layout

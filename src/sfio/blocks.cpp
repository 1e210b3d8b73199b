#include "sfio/blocks.hpp"

#include <algorithm>

#include "layout/piece_map.hpp"

namespace sheaf::sfio {

namespace {

std::vector<Block> sorted(std::span<const Block> blocks) {
  std::vector<Block> all;
  all.reserve(blocks.size());
  for (const Block& block : blocks)
    if (block.length > 0) all.push_back(block);
  if (!std::ranges::is_sorted(all, {}, &Block::offset)) std::ranges::stable_sort(all, {}, &Block::offset);
  return all;
}

bool overlap(const std::vector<Block>& all) {
  const auto runs_into = [](const Block& one, const Block& next) { return next.offset < one.end(); };
  return std::ranges::adjacent_find(all, runs_into) != all.end();
}

}  // namespace

std::vector<Block> sorted_writes(std::span<const Block> blocks) {
  std::vector<Block> all = sorted(blocks);
  if (!overlap(all)) return all;
  layout::PieceMap pieces;  // source: index of the block
  for (size_t i = 0; i < blocks.size(); ++i)
    pieces.put(blocks[i].offset, {.length = blocks[i].length, .source = static_cast<uint32_t>(i)});
  std::vector<Block> result;
  for (const auto& [offset, piece] : pieces.all())
    result.push_back({offset, blocks[piece.source].memory + piece.place, piece.length});
  return result;
}

std::vector<Block> sorted_reads(std::span<const Block> blocks, std::vector<Copy>& copies) {
  const std::vector<Block> all = sorted(blocks);
  if (!overlap(all)) return all;
  std::vector<Block> result;
  for (const Block& block : all) {
    // The bytes that earlier blocks read are in the last blocks of the result, which continue from
    // block.offset without a gap.
    auto known =
        std::ranges::partition_point(result, [&](const Block& b) { return b.end() <= block.offset; });
    int64_t at = block.offset;
    for (; known != result.end() && at < block.end() && known->offset <= at; ++known) {
      const int64_t end = std::min(block.end(), known->end());
      copies.push_back({known->memory + (at - known->offset), block.memory + (at - block.offset), end - at});
      at = end;
    }
    if (at < block.end()) result.push_back({at, block.memory + (at - block.offset), block.end() - at});
  }
  return result;
}

}  // namespace sheaf::sfio

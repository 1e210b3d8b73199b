#include "stripedfile/blocks.hpp"

#include <algorithm>
#include <map>

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
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].offset < all[i - 1].end()) return true;
  return false;
}

}  // namespace

std::vector<Block> sorted_writes(std::span<const Block> blocks) {
  std::vector<Block> all = sorted(blocks);
  if (!overlap(all)) return all;
  // From the last block to the first, each gets what is still free.
  std::map<int64_t, Block> taken;
  for (size_t i = blocks.size(); i-- > 0;) {
    const Block& block = blocks[i];
    int64_t at = block.offset;
    auto next = taken.upper_bound(at);
    if (next != taken.begin()) at = std::max(at, std::prev(next)->second.end());
    while (at < block.end()) {
      const int64_t end = next == taken.end() ? block.end() : std::min(block.end(), next->first);
      if (at < end) taken.emplace_hint(next, at, Block{at, block.memory + (at - block.offset), end - at});
      if (next == taken.end()) break;
      at = std::max(at, next->second.end());
      ++next;
    }
  }
  std::vector<Block> result;
  for (const auto& [offset, block] : taken) result.push_back(block);
  return result;
}

std::vector<Block> sorted_reads(std::span<const Block> blocks, std::vector<Copy>& copies) {
  const std::vector<Block> all = sorted(blocks);
  if (!overlap(all)) return all;
  std::vector<Block> result;
  for (const Block& block : all) {
    // What is read already lies at the end of the result, without a gap from block.offset on.
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

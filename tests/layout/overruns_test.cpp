#include "layout/overruns.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sheaf::layout {
namespace {

struct OverrunBlock {
  int64_t start, bytes, chunk;
};

// Returns the number of bytes at the beginning of block `i` that precede `end` and that no other block
// covers, but at least the size of the block's chunk.
int64_t own_by_definition(const std::vector<OverrunBlock>& blocks, size_t i, int64_t end) {
  const OverrunBlock& b = blocks[i];
  for (int64_t at = b.start + b.chunk; at < b.start + b.bytes; ++at) {
    if (at >= end) return at - b.start;
    for (size_t k = 0; k < blocks.size(); ++k)
      if (k != i && at >= blocks[k].start && at < blocks[k].start + blocks[k].bytes) return at - b.start;
  }
  return b.bytes;
}

TEST(Overruns, AreCutWhereAnythingElseMayLie) {
  std::mt19937 random(5);
  const auto below = [&](int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<OverrunBlock> blocks;
    int64_t at = below(4);
    for (int64_t n = 1 + below(6); n > 0; --n) {
      const int64_t chunk = below(4) == 0 ? 0 : below(12);
      if (const int64_t bytes = below(3) == 0 ? below(30) : below(chunk + 1); bytes > 0)
        blocks.push_back({at, bytes, chunk});
      at += chunk;
    }
    OverrunScan scan;
    for (size_t i = 0; i < blocks.size(); ++i)
      scan.add(static_cast<int64_t>(i), blocks[i].start, blocks[i].bytes, blocks[i].chunk);
    scan.end_at(at);
    std::vector<int64_t> own;
    for (const OverrunBlock& b : blocks) own.push_back(b.bytes);
    for (const CutBlock& cut : scan.cut()) {
      EXPECT_EQ(cut.stored, blocks[static_cast<size_t>(cut.entry)].bytes);
      EXPECT_LT(cut.own, cut.stored);
      own[static_cast<size_t>(cut.entry)] = cut.own;
    }
    for (size_t i = 0; i < blocks.size(); ++i)
      ASSERT_EQ(own[i], own_by_definition(blocks, i, at)) << "round " << round << ", block " << i;
  }
}

}  // namespace
}  // namespace sheaf::layout

// sfio/blocks: sorts the blocks of one call and removes overlaps (SFIO paper, section 2: sortcache, bkmerge).
// It works on offsets in the logical file: blocks that are sorted and disjoint in the logical file are sorted
// and disjoint in every subfile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::sfio {

// `length` bytes of memory for the bytes of the logical file from `offset`.
struct Block {
  int64_t offset = 0;
  std::byte* memory = nullptr;  // a write does not modify it
  int64_t length = 0;

  int64_t end() const { return offset + length; }
};

// Returns the blocks for a write, sorted by offset. Where blocks overlap, the later one in the list wins.
// Empty blocks are dropped.
std::vector<Block> sorted_writes(std::span<const Block> blocks);

// A copy from memory to memory that follows a read, for bytes of the file that several blocks contain.
struct Copy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t length = 0;
};

// Returns the blocks for a read, sorted by offset, with every byte of the file at most once. Adds a copy to
// `copies` for all further occurrences of a byte.
std::vector<Block> sorted_reads(std::span<const Block> blocks, std::vector<Copy>& copies);

}  // namespace sheaf::sfio

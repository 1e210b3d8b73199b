// stripedfile/blocks: the blocks of one call, sorted and without overlap (SFIO paper, section 2: sortcache,
// bkmerge). Done in the logical file: what is sorted and disjoint there is so in every subfile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::sfio {

// `length` bytes of memory for the bytes of the logical file from `offset` on.
struct Block {
  int64_t offset = 0;
  std::byte* memory = nullptr;  // only read by writes
  int64_t length = 0;

  int64_t end() const { return offset + length; }
};

// Blocks for a write, by rising offset; where blocks overlap the later one in the list wins. Empty ones are
// left out.
std::vector<Block> sorted_writes(std::span<const Block> blocks);

// Bytes to copy after a read, from memory that was read into memory that wants the same bytes.
struct Copy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t length = 0;
};

// Blocks for a read, by rising offset, every byte of the file at most once; the rest becomes copies.
std::vector<Block> sorted_reads(std::span<const Block> blocks, std::vector<Copy>& copies);

}  // namespace sheaf::sfio

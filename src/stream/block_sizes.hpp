// stream/block_sizes: the recorded sizes of the blocks of one task, and places in the stream that they
// make. All sizes in bytes.
//
// Most tasks have few blocks, and a table of their sizes lies in memory. A file may claim billions, most of
// them in a hole: those are read from it when they are asked for (BlockSource).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// Where the sizes of a task come from that has too many blocks to hold. Not for several threads. Throws what
// reading throws.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual int64_t size_of(int64_t block) = 0;
  // The first block from this one on that may have bytes; all before it are empty. INT64_MAX: none.
  virtual int64_t next_candidate(int64_t block) = 0;
};

// The sizes of one task's blocks, inside a larger table that somebody else owns.
struct SHEAF_EXPORT BlockSizes {
  BlockSizes() = default;
  BlockSizes(const int64_t* first, int32_t blocks) : count(blocks), first_(first) {}
  BlockSizes(BlockSource& source, int32_t blocks) : count(blocks), source_(&source) {}

  int64_t operator[](int64_t block) const { return source_ ? source_->size_of(block) : first_[block]; }
  // Whether they are in a table in memory, for any number of threads; else one thread at a time asks for
  // them.
  bool in_memory() const { return source_ == nullptr; }
  // The first block from this one on that is not empty; count: none.
  int64_t next_used(int64_t block) const;
  int64_t total() const;
  std::vector<int64_t> all() const;

  int32_t count = 0;

 private:
  const int64_t* first_ = nullptr;
  BlockSource* source_ = nullptr;  // null: they are in the table
};

// visit(block, bytes) for the blocks that are not empty, in order.
template <class Visit>
void for_each_used(const BlockSizes& sizes, Visit&& visit) {
  for (int64_t b = sizes.next_used(0); b < sizes.count; b = sizes.next_used(b + 1)) visit(b, sizes[b]);
}

struct ReadPosition {
  int64_t block = 0;
  int64_t offset = 0;  // inside the block
};

// Where the bytes of a stream are: the begins of its blocks, or of some of them if there are very many (at
// most 128 KiB).
class SHEAF_EXPORT StreamPlaces {
 public:
  StreamPlaces() = default;
  explicit StreamPlaces(const BlockSizes& sizes);

  int64_t total() const { return total_; }
  // Where the byte at `offset` is; from total() on, behind the last one. `sizes` are those of the
  // constructor.
  ReadPosition find(const BlockSizes& sizes, int64_t offset) const;

 private:
  int64_t step_ = 1;  // blocks between two of
  std::vector<int64_t> begins_;
  int64_t total_ = 0;
};

}  // namespace sheaf

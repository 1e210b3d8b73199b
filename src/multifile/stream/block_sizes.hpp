// multifile/stream/block_sizes: provides the recorded block sizes of one task, and maps offsets in its stream
// to blocks. All sizes are in bytes.
//
// Most tasks have few blocks, and a table of their sizes is held in memory. A file may claim billions of
// blocks, most of them in a hole. Their sizes are read from the file on demand (BlockSource).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/export.hpp"

namespace sheaf::multifile {

// Source of the block sizes of a task that has too many to hold in memory. Not thread-safe. Throws what
// reading throws.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual int64_t size_of(int64_t block) = 0;
  // Returns the first block >= `block` that may have bytes, or INT64_MAX if no block may. All blocks in
  // between are empty.
  virtual int64_t next_candidate(int64_t block) = 0;
};

// The block sizes of one task: a view of a larger table, or of a BlockSource. Owns neither.
struct SHEAF_EXPORT BlockSizes {
  BlockSizes() = default;
  BlockSizes(const int64_t* first, int32_t blocks) : count(blocks), first_(first) {}
  BlockSizes(BlockSource& source, int32_t blocks) : count(blocks), source_(&source) {}

  int64_t operator[](int64_t block) const { return source_ ? source_->size_of(block) : first_[block]; }
  // Returns true if the sizes are in a table in memory, which any number of threads may read. If it returns
  // false, only one thread at a time may read them.
  bool in_memory() const { return source_ == nullptr; }
  // Returns the first block >= `block` that is not empty, or `count` if all further blocks are empty.
  int64_t next_used(int64_t block) const;
  // The blocks that are not empty, for a range-based loop over values of UsedBlock.
  struct UsedBlock {
    int64_t block, bytes;
  };
  struct UsedBlocks {
    struct Iterator {
      UsedBlock operator*() const { return {block, (*sizes)[block]}; }
      Iterator& operator++() {
        block = sizes->next_used(block + 1);
        return *this;
      }
      // `block` may pass `last`, because empty blocks are skipped.
      bool operator!=(int64_t last) const { return block < last; }

      const BlockSizes* sizes;
      int64_t block;
    };
    Iterator begin() const { return first; }
    int64_t end() const { return last; }

    Iterator first;
    int64_t last;
  };
  // Returns the non-empty blocks among [first, last), in ascending order. The sizes must outlive the result.
  UsedBlocks used(int64_t first = 0, int64_t last = INT64_MAX) const {
    return {{this, next_used(first)}, std::min<int64_t>(last, count)};
  }
  int64_t total() const;
  std::vector<int64_t> all() const;

  int32_t count = 0;

 private:
  const int64_t* first_ = nullptr;
  BlockSource* source_ = nullptr;  // null: sizes are in the table
};

struct StreamPosition {
  int64_t block = 0;
  int64_t offset = 0;  // inside the block

  bool operator==(const StreamPosition&) const = default;
};

// Maps stream offsets to positions. Holds the start of each block, or of every n-th block if there are very
// many (at most 128 KiB).
class SHEAF_EXPORT StreamPlaces {
 public:
  StreamPlaces() = default;
  explicit StreamPlaces(const BlockSizes& sizes);

  int64_t total() const { return total_; }
  // Returns the position of the byte at `offset`; for offsets >= total(), the position after the last byte.
  // `sizes` must be those of the constructor.
  StreamPosition find(const BlockSizes& sizes, int64_t offset) const;

 private:
  int64_t step_ = 1;  // blocks between two entries of begins_
  std::vector<int64_t> begins_;
  int64_t total_ = 0;
};

}  // namespace sheaf::multifile

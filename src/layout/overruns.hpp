// layout/overruns: blocks that are larger than their chunks, and which of their bytes are known to be those
// of their task (docs/format.md, section 9).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace sheaf::layout {

// A block that is cut.
struct CutBlock {
  int64_t entry = 0;   // of the block table: round * tasks + task
  int64_t stored = 0;  // size, bytes
  int64_t own = 0;     // known bytes at its begin
};

// Takes the blocks that have bytes, in the order of the block table, which is that of their chunks.
class OverrunScan {
 public:
  // The chunk of a block, at `start`, has `chunk` bytes.
  void add(int64_t entry, int64_t start, int64_t bytes, int64_t chunk) {
    end_at(start);
    if (bytes > chunk) {
      last_ = Block{entry, start, bytes};
      // A block before it reaches beyond the chunk as well.
      if (reach_ > start + chunk) end_at(start + chunk);
    }
    reach_ = std::max(reach_, start + bytes);
  }
  // Something else begins at `offset`.
  void end_at(int64_t offset) {
    if (last_ && last_->start + last_->bytes > offset)
      cut_.push_back({last_->entry, last_->bytes, offset - last_->start});
    last_.reset();
  }
  // Ascending by entry.
  std::vector<CutBlock>& cut() { return cut_; }

 private:
  std::vector<CutBlock> cut_;
  // Larger than its chunk, until something is found behind it.
  struct Block {
    int64_t entry = 0, start = 0, bytes = 0;
  };
  std::optional<Block> last_;
  int64_t reach_ = 0;  // the end of all blocks so far
};

}  // namespace sheaf::layout

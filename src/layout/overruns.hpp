// layout/overruns: finds blocks that exceed their chunks, and how many of their bytes certainly belong to
// their task (docs/format.md, section 9).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.hpp"

namespace sheaf::layout {

// A block that must be truncated.
struct CutBlock {
  int64_t entry = 0;   // index in the block table: round * tasks + task
  int64_t stored = 0;  // recorded size in bytes
  int64_t own = 0;     // bytes at its start that belong to the task
};

// Finds the blocks that must be truncated. The caller adds all non-empty blocks in the order of the block
// table, which is the order of their chunks.
class OverrunScan {
 public:
  // Adds a block of `bytes` bytes in the chunk of `chunk` bytes at `start`.
  void add(int64_t entry, int64_t start, int64_t bytes, int64_t chunk) {
    SHEAF_DEBUG_ASSERT(bytes > 0 && chunk >= 0 && (cut_.empty() || cut_.back().entry < entry));
    end_at(start);
    if (bytes > chunk) {
      last_ = OversizedBlock{entry, start, bytes};
      // An earlier block also reaches beyond this chunk, so bytes after the chunk may belong to either block.
      if (reach_ > start + chunk) end_at(start + chunk);
    }
    reach_ = std::max(reach_, start + bytes);
  }
  // Truncates the last block at `offset`, where other data begin.
  void end_at(int64_t offset) {
    if (last_ && last_->start + last_->bytes > offset)
      cut_.push_back({last_->entry, last_->bytes, offset - last_->start});
    last_.reset();
  }
  // Returns the truncated blocks, ascending by entry.
  std::vector<CutBlock>& cut() { return cut_; }

 private:
  std::vector<CutBlock> cut_;
  // The last block that exceeds its chunk, until data that follow it are found.
  struct OversizedBlock {
    int64_t entry = 0, start = 0, bytes = 0;
  };
  std::optional<OversizedBlock> last_;
  int64_t reach_ = 0;  // end of all blocks so far
};

}  // namespace sheaf::layout

// layout/chunk_layout: computes the offsets of the chunks of a task in its physical file (docs/format.md,
// section "Where data go"). Pure integer arithmetic with overflow checks. Offsets and sizes are in bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/export.hpp"

namespace sheaf::layout {

// Chunk k of a task occupies [offset(k), offset(k) + size) of the physical file.
struct SHEAF_EXPORT ChunkGeometry {
  int64_t start = 0;  // absolute offset of chunk 0
  int64_t skip = 0;   // distance between consecutive chunks of the task: sum of all tasks' chunk sizes
  int64_t size = 0;   // bytes per chunk

  // Returns the offset of a chunk. Throws invalid_argument if the chunk would end beyond 2^63 bytes.
  int64_t offset(int64_t chunk) const;
};

// Returns the offset of the data area of a physical file with `ntasks` tasks: META1 rounded up to the block
// size.
inline int64_t data_start(int64_t ntasks, int64_t fsblksize) {
  return must_fit(align_up(1088 + 16 * ntasks, fsblksize), "the header of the multifile");
}

// Returns the end of `rounds` rounds of chunks, `skip` bytes each, where the block table begins. Returns
// nullopt if the end exceeds 2^63 bytes.
inline std::optional<int64_t> end_of_rounds(int64_t ntasks, int64_t fsblksize, int64_t rounds, int64_t skip) {
  return checked_mul_add(rounds, skip, data_start(ntasks, fsblksize));
}

// Returns the bytes of META2 without the mapping: block counts and `maxblocks` rounds of block sizes.
inline int64_t meta2_size(int64_t ntasks, int64_t maxblocks) {
  return must_fit(checked_mul(8 * ntasks, 1 + maxblocks), "the block table of the multifile");
}

// Returns the chunk size of a task that requests `requested` >= 0 bytes (individual writing), rounded up to
// whole blocks.
inline int64_t aligned_chunk(int64_t requested, int64_t fsblksize) {
  return must_fit(align_up(requested, fsblksize), "the chunk size");
}

// The first chunk of every task of a physical file, and the distance between rounds.
struct FileLayout {
  std::vector<int64_t> starts = {};  // offset of chunk 0, one per task
  int64_t skip = 0;
  int64_t data_start = 0;
};

// Returns the layout of a physical file with these final chunk sizes, one per task. Throws invalid_argument
// on overflow.
FileLayout lay_out(std::span<const int64_t> chunk_sizes, int64_t fsblksize);

}  // namespace sheaf::layout

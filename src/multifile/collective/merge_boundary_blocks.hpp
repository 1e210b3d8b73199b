// multifile/collective/merge_boundary_blocks: at close, merges the boundary blocks that hosts keep beside a
// physical file (multifile/metadata/boundary_blocks) into that file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/extent.hpp"
#include "comm/comm.hpp"
#include "multifile/metadata/boundary_blocks.hpp"

namespace sheaf::multifile {

// Appends to `extents` the boundary blocks within bytes [offset, offset + length) of the physical file. Tasks
// of this process must have written these bytes. `length` is at least 0.
void add_boundary_blocks(const layout::BoundaryMap& map, int64_t offset, int64_t length,
                         std::vector<Extent>& extents);

// Layout of the physical file that receives the boundary blocks.
struct BoundaryMergeTarget {
  int64_t unit = 1;        // shared granularity, in bytes
  int64_t data_start = 0;  // offset of the first chunk in the file
  int64_t end = 0;         // end of the last round, where the block table begins
  int64_t hosts = 1;
  int metadata_writer = 0;  // the task that writes META1 and META2
};

// Returns the physical file, open for writing. Called only on tasks that have to write to it. Throws what
// opening throws.
using FileToWrite = std::function<File&()>;

// Merges the boundary blocks into the physical file `path`, which must have received all other bytes.
// Collective over `comm`, which includes all tasks of the file. One task of `comm` writes each block of the
// shared granularity; `where.metadata_writer` writes the blocks that contain metadata. Holds up to 16 MiB of
// boundary blocks in memory.
//
// `extents` lists, in file order, the boundary blocks that tasks of this process have written to
// `boundary_blocks`. `boundary_blocks` is null if there are none. Returns the error of this task, if any.
// After an error, some boundary blocks exist only in the files beside the physical file.
std::optional<Error> merge_boundary_blocks(Comm& comm, const std::string& path, const FileToWrite& file,
                                           const BoundaryMergeTarget& where, BoundaryBlocks* boundary_blocks,
                                           std::span<const Extent> extents);

}  // namespace sheaf::multifile

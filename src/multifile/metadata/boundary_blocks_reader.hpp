// multifile/metadata/boundary_blocks_reader: reads a physical file that was never closed and has boundary
// blocks beside it (multifile/metadata/boundary_blocks).
#pragma once

#include <memory>

#include "layout/boundary_map.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Returns a File that reads the incomplete physical file `file` as if all its boundary blocks were merged.
// Returns `file` itself if it has none. Keeps a file open for every host with boundary blocks, and holds 24
// bytes for every task that wrote some. Stores their positions in `map` unless it is null. Throws what the
// store throws, and unsupported.
std::shared_ptr<File> with_boundary_blocks(Store& store, std::shared_ptr<File> file,
                                           layout::BoundaryMap* map = nullptr);

// Copies the bytes of [offset, offset + length) that are in boundary blocks to `target`, which is the file
// itself or a copy. `boundary_file` and `map` are those of with_boundary_blocks().
void copy_boundary_blocks(File& boundary_file, const layout::BoundaryMap& map, File& target, int64_t offset,
                          int64_t length);

}  // namespace sheaf::multifile

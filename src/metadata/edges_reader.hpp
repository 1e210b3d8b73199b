// metadata/edges_reader: reading a physical file that was never closed, and whose hosts keep the edges of
// their regions beside it (metadata/edges).
#pragma once

#include <memory>

#include "layout/edge_map.hpp"
#include "storage/file.hpp"

namespace sheaf {

// `file`, a physical file that is not complete, as if all edges were in it, to read; `file` itself if there
// are none. Keeps a file open for every host that has some, and 24 bytes for every task that has written
// there. `map`, if given, is set to where the edges are. Throws what the store throws, and unsupported.
std::shared_ptr<File> with_edges(Store& store, std::shared_ptr<File> file, layout::EdgeMap* map = nullptr);

// Brings those of the bytes [offset, offset + length) that are in edges into `target`, the file itself or a
// copy. `edged` and `map` are those of with_edges().
void copy_edges(File& edged, const layout::EdgeMap& map, File& target, int64_t offset, int64_t length);

}  // namespace sheaf

// collective/edges_home: in the close, what hosts have kept beside a physical file (metadata/edges) goes
// where it belongs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/pieces/extent.hpp"
#include "metadata/edges.hpp"

namespace sheaf {

// Bytes [offset, offset + length) of the physical file that tasks of this process have written, in order, as
// far as they are edges; added to `extents`.
void add_edges(const layout::EdgeMap& map, int64_t offset, int64_t length,
               std::vector<exchange::Extent>& extents);

// The physical file whose edges come home.
struct EdgesHome {
  int64_t unit = 1;        // bytes
  int64_t data_start = 0;  // absolute offset
  int64_t end = 0;         // where the last round ends, and the block table begins
  int64_t hosts = 1;
  int metadata_writer = 0;  // the task that writes META1 and META2
};

// The physical file at a task that shall write to it; each brings its own. Throws what opening it throws.
using FileToWrite = std::function<File&()>;

// Collective over `comm`, among which are the tasks of a physical file, all of whose bytes are written. Every
// unit is written by one task of `comm`: those with metadata by the one who writes those. Memory: 16 MiB of
// edges at a time. `extents`, in order: those of the `edges` (null: there are none) that tasks of this
// process have written. Returns what went wrong here; then some edges are not in the file, but still beside
// it.
std::optional<Error> bring_home(Comm& comm, const std::string& path, const FileToWrite& file,
                                const EdgesHome& where, Edges* edges,
                                std::span<const exchange::Extent> extents);

}  // namespace sheaf

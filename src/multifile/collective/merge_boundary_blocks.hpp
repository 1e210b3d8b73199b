// multifile/collective/merge_boundary_blocks: at close, merges the boundary blocks that hosts keep beside a
// physical file (multifile/metadata/edges) into that file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/pieces/extent.hpp"
#include "multifile/metadata/edges.hpp"

namespace sheaf {

// Appends to `extents` the boundary blocks within bytes [offset, offset + length) of the physical file. The
// tasks of this process have written these bytes. Calls are made in the order of offsets.
void add_edges(const layout::EdgeMap& map, int64_t offset, int64_t length,
               std::vector<exchange::Extent>& extents);

// Layout of the physical file that gets the boundary blocks.
struct EdgesHome {
  int64_t unit = 1;        // shared granularity, in bytes
  int64_t data_start = 0;  // absolute offset
  int64_t end = 0;         // end of the last round, where the block table begins
  int64_t hosts = 1;
  int metadata_writer = 0;  // the task that writes META1 and META2
};

// Opens the physical file on a task that has to write to it. Throws what opening throws.
using FileToWrite = std::function<File&()>;

// Merges the boundary blocks into the file. Collective over `comm`, which includes the tasks of a physical
// file that has received all other bytes. Each block of the shared granularity is written by one task of
// `comm`; the task that writes the metadata also writes the blocks that contain metadata. Memory: 16 MiB of
// boundary blocks at a time.
//
// extents: boundary blocks that tasks of this process have written to `edges`, in order. edges: null if there
// are no boundary blocks. Returns the error of this task. After an error, some boundary blocks are only in
// the files beside.
std::optional<Error> bring_home(Comm& comm, const std::string& path, const FileToWrite& file,
                                const EdgesHome& where, Edges* edges,
                                std::span<const exchange::Extent> extents);

}  // namespace sheaf

// tools/usage: how well the chunks of a multifile are filled, and what readers leave unread in it. For
// tools.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/export.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// All sizes in bytes. A chunk counts once per round in which its task has it.
struct Usage {
  int64_t chunk_bytes = 0;  // of the counted rounds
  int64_t data_bytes = 0;
  int64_t full_bytes = 0, full_chunks = 0;      // filled exactly
  int64_t partly_bytes = 0, partly_chunks = 0;  // the data in them; also those filled beyond their end
  int64_t empty_bytes = 0, empty_chunks = 0;    // their sizes, rounds that the task does not count included
  int64_t fsblocks_full = 0, fsblocks_partly = 0;  // file-system blocks touched, every chunk by itself
  int64_t fsblocks_partly_bytes = 0;               // data in the partly used ones
  struct Task {
    int64_t task = 0;
    int64_t bytes = 0;
  };
  Task largest, smallest;  // the first of several; of a multifile with tasks
};

SHEAF_EXPORT Usage usage_of(const Multifile& multifile);

// The mapping field behind the block table: of the leader of a set, or of a single file, where readers ignore
// it. Its number of entries; nothing: there is none.
SHEAF_EXPORT std::optional<int64_t> stored_mapping_size(const Multifile& multifile, size_t file);
// Visits its entries.
SHEAF_EXPORT void for_each_stored_entry(const Multifile& multifile, size_t file,
                                        const std::function<void(layout::Placement)>& visit);

// flag1 as stored; format 2 has none: 0.
inline int64_t stored_flag1(const format::Header& header) { return header.version == 2 ? 0 : header.flag1; }

}  // namespace sheaf

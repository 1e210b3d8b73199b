// multifile/tools/usage: reports how far the chunks of a multifile are filled, and reads stored fields that
// readers ignore.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/export.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

// Sizes are in bytes. The chunk of a task counts as one chunk in each round.
struct Usage {
  int64_t chunk_bytes = 0;  // chunk sizes, summed over the blocks of all tasks
  int64_t data_bytes = 0;
  int64_t full_bytes = 0, full_chunks = 0;         // filled exactly
  int64_t partly_bytes = 0, partly_chunks = 0;     // data in partly filled or overfilled chunks
  int64_t empty_bytes = 0, empty_chunks = 0;       // chunks without data, even without a block
  int64_t fsblocks_full = 0, fsblocks_partly = 0;  // file system blocks with data, counted per chunk
  int64_t fsblocks_partly_bytes = 0;               // data in the partly used blocks
  struct TaskUsage {
    int64_t task = 0;
    int64_t bytes = 0;
  };
  TaskUsage largest, smallest;  // the first one of equal tasks; not set without tasks
};

SHEAF_EXPORT Usage usage_of(const Multifile& multifile);

// Returns the number of entries of the mapping field after the block table; nullopt if the file lacks the
// field. File 0 of a set has the field. Some multifiles of one file have it too; readers ignore it there.
SHEAF_EXPORT std::optional<int64_t> stored_mapping_size(const Multifile& multifile, size_t file);
// Calls visit() for each entry of that field.
SHEAF_EXPORT void for_each_stored_entry(const Multifile& multifile, size_t file,
                                        const std::function<void(layout::Placement)>& visit);

// Returns flag1 as stored; 0 for format 2, which has no flag1.
inline int64_t stored_flag1(const format::Header& header) { return header.version == 2 ? 0 : header.flag1; }

}  // namespace sheaf::multifile

// creation/packed_file: a physical file that one process makes, with one chunk for each task, one behind the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/placement.hpp"
#include "storage/file.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

struct PackedFile {
  format::Header header;
  std::optional<format::Extension> extension = {};
  std::vector<int64_t> globalranks = {};
  std::vector<int64_t> lengths = {};             // bytes of each task
  std::vector<std::vector<uint32_t>> sums = {};  // checksums of each task, where the extension has some
  std::vector<MoreSection> more = {};            // of the trailer
  std::vector<layout::Placement> mapping = {};   // of all tasks, in the first file of a set

  // Bytes per checksum; 0: there are none.
  uint32_t piece() const { return extension && extension->checksums() ? extension->piece : 0; }
  // Of the mapping field; -1: the file has none. An only file has an empty one, as serial writers make it.
  int64_t mapping_entries() const {
    return header.nfiles == 1 ? 0 : header.leads_set() ? std::ssize(mapping) : -1;
  }
};

// Where the chunks of such tasks are.
layout::FileLayout packed_layout(const std::vector<int64_t>& lengths, const format::Header& header);

// Writes all of the metadata, and the pointer last. The header without them, and the data, are there.
void complete_packed_file(File& file, const PackedFile& packed);

}  // namespace sheaf

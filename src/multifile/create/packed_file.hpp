// multifile/create/packed_file: a physical file that one process writes, with one chunk per task.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/placement.hpp"
#include "multifile/stream/file_checks.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

struct PackedFile {
  format::Header header;
  std::optional<format::Extension> extension = {};
  std::vector<int64_t> globalranks = {};
  std::vector<int64_t> lengths = {};             // bytes of each task
  std::vector<std::vector<uint32_t>> sums = {};  // data checksums of each task, if used
  std::vector<MoreSection> more = {};            // further sections of the trailer
  std::vector<layout::Placement> mapping = {};   // places of all tasks; only in file 0 of a set

  // Returns the number of bytes per checksum; 0 if the file has no checksums.
  uint32_t piece() const { return extension && extension->checksums() ? extension->piece : 0; }
  // Returns the number of entries of the mapping field; -1 if the file has no such field. A multifile of one
  // physical file has an empty mapping, as serial writers of the format store it.
  int64_t mapping_entries() const {
    return header.nfiles == 1 ? 0 : header.leads_set() ? std::ssize(mapping) : -1;
  }
};

// Returns the chunk positions of tasks with `lengths` bytes.
layout::FileLayout packed_layout(const std::vector<int64_t>& lengths, const format::Header& header);

// Writes all metadata, the pointer last. Header and data must already be in the file.
void complete_packed_file(File& file, const PackedFile& packed);

}  // namespace sheaf::multifile

// multifile/buddy/table: the metadata that a physical file and its copy share, held in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "format/extension.hpp"
#include "multifile/metadata/metadata_io.hpp"

namespace sheaf::multifile::buddy {

struct Table {
  struct BuddyFacts {
    format::Header header;
    format::Pointer pointer;
    std::optional<format::Extension> extension;  // set if the file has checksums
    size_t entries = 0;                          // mapping entries; 0 except in file 0 of a set
    size_t sums = 0;
  };
  static_assert(std::is_trivially_copyable_v<BuddyFacts>);  // sent as raw bytes
  BuddyFacts facts;
  // `ranks`, `chunks` and `counts` have one entry per task. `sizes` has one entry per task and block: block 0
  // of all tasks, then block 1 of all tasks, and so on.
  std::vector<int64_t> ranks, chunks, counts, sizes;
  std::vector<layout::Placement> mapping;
  std::vector<uint32_t> sums;  // data checksums

  // Calls visit(vector, n) for every vector, always in the same order. `n` is the number of entries that the
  // vector has according to `facts`.
  template <class Visit>
  void for_each_part(Visit visit) {
    const auto n = static_cast<size_t>(facts.header.ntasks);
    for (auto* part : {&ranks, &chunks, &counts}) visit(*part, n);
    visit(sizes, n * static_cast<size_t>(facts.pointer.maxblocks));
    visit(mapping, facts.entries);
    visit(sums, facts.sums);
  }
};

// Reads all metadata of a complete file.
Table read_table(MetadataReader& reader);

// Writes all metadata, including the trailer of a file with checksums. The data must already be in the file.
void write_table(File& file, const Table& table);

}  // namespace sheaf::multifile::buddy

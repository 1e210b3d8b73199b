// buddy/table: the metadata of a physical file in memory: what a copy and its original have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "format/extension.hpp"
#include "metadata/metadata_io.hpp"

namespace sheaf::buddy {

struct Table {
  struct Facts {
    format::Header header;
    format::Pointer pointer;
    std::optional<format::Extension> extension;  // of a file with checksums
    size_t entries = 0;                          // of the mapping, which the first file of a set has
    size_t sums = 0;
  };
  static_assert(std::is_trivially_copyable_v<Facts>);  // they travel as they are
  Facts facts;
  std::vector<int64_t> ranks, chunks, counts, sizes;  // sizes: round by round
  std::vector<layout::Placement> mapping;
  std::vector<uint32_t> sums;  // of the data

  // visit(vector, its length by the facts) for all of them, always in the same order.
  template <class Visit>
  void for_each_part(Visit visit) {
    const auto n = static_cast<size_t>(facts.header.ntasks);
    for (auto* part : {&ranks, &chunks, &counts}) visit(*part, n);
    visit(sizes, n * static_cast<size_t>(facts.pointer.maxblocks));
    visit(mapping, facts.entries);
    visit(sums, facts.sums);
  }
};

Table read_table(MetadataReader& reader);

// Writes the metadata of a file whose data are there; the trailer, if it has one, with them.
void write_table(File& file, const Table& table);

}  // namespace sheaf::buddy

// recovery/hole_table: the blocks of a physical file without block table and journal, from the holes of the
// sparse file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metadata/metadata_io.hpp"

namespace sheaf {

struct HoleTable {
  std::vector<std::vector<int64_t>> rounds;  // [round][local task]: bytes; at least one round
  std::vector<int64_t> counts;               // blocks of each task, >= 1
  std::vector<std::string> unknown;          // what the holes cannot tell
};

// A chunk counts as used up to the last byte that is not in a hole. Throws what the reader and the file
// throw.
HoleTable read_holes(MetadataReader& reader);

// Where the journal, of which `p` tells, knows more: chunks that are finished are as long as it says, and
// what else it says is the least there is. For files whose journal tells too little
// (format::journal_gap_mark).
void add_records(MetadataReader& reader, const format::Pointer& p, HoleTable& table);

// Shortens every task's data to what has no gap: they end with the first chunk that ends in zeros, and there
// with the last byte that is not zero. A page that two chunks share is no hole in either, and where a record
// did not fit, a chunk that is not full looks as if it were.
void leave_out_zeros(MetadataReader& reader, HoleTable& table);

// A whole block table where one can be expected if only the pointer to it is missing, `rounds` being what the
// holes show.
std::optional<format::Pointer> find_table(MetadataReader& reader, int64_t rounds);

}  // namespace sheaf

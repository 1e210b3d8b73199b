// multifile/hole_table: the blocks of a physical file without block table and journal, from the holes of the sparse file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "multifile/metadata_io.hpp"

namespace sheaf {

struct HoleTable {
  std::vector<std::vector<int64_t>> rounds;  // [round][local task]: bytes; at least one round
  std::vector<int64_t> counts;               // blocks of each task, >= 1
  std::vector<std::string> unknown;          // what the holes cannot tell
};

// A chunk counts as used up to the last byte that is not in a hole. Throws what the reader and the file throw.
HoleTable read_holes(MetadataReader& reader);

// A whole block table where one can be expected if only the pointer to it is missing, `rounds` being what the holes show.
std::optional<format::Pointer> find_table(MetadataReader& reader, int64_t rounds);

}  // namespace sheaf

// multifile/recover/hole_table: reconstructs the blocks of a physical file without block table and journal
// from the holes of the sparse file.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "multifile/metadata/metadata_io.hpp"

namespace sheaf {

struct HoleTable {
  // Bytes by local task, for each round that contains data.
  std::map<int64_t, std::vector<int64_t>> rounds;
  std::vector<int64_t> counts;       // blocks of each task, >= 1
  std::vector<std::string> unknown;  // facts that the holes do not show
  int64_t guessed_ends = 0;          // chunks that end in a zero, which may be data or not

  // Returns the number of rounds, >= 1.
  int64_t blocks() const { return counts.empty() ? 1 : std::ranges::max(counts); }
  int64_t bytes(int64_t round, size_t task) const {
    const auto found = rounds.find(round);
    return found == rounds.end() ? 0 : found->second[task];
  }
  // Returns all tasks of a round, for modification.
  std::vector<int64_t>& round(int64_t number) {
    auto& row = rounds[number];
    row.resize(counts.size());
    return row;
  }
};

// Chunk sizes and positions of all tasks.
struct Chunks {
  std::vector<int64_t> sizes;
  layout::FileLayout layout;
};
// Throws `damaged` if the chunks end beyond 2^63 bytes.
Chunks read_chunks(MetadataReader& reader);

// Counts a chunk as used up to the last byte that is not in a hole. Throws what the reader and the file
// throw. Throws `damaged` if the block table would be far larger than the contents of the file: stray bytes
// then lie far beyond the data.
HoleTable read_holes(MetadataReader& reader, const Chunks& chunks);

// Adds records of the journal that `p` describes. Finished chunks get their recorded length; for other chunks
// the record is a lower bound. For files with an incomplete journal (format::journal_gap_mark).
void add_records(MetadataReader& reader, const format::Pointer& p, HoleTable& table);

// Shortens every task's data to the part without gaps. The data end in the first chunk that ends in zeros,
// with its last nonzero byte. Holes alone are not sufficient: a page that two chunks share is a hole in
// neither. A task may leave a chunk early because a record does not fit. Such a chunk may appear full.
void leave_out_zeros(MetadataReader& reader, const Chunks& chunks, HoleTable& table);

// Reads the blocks from a block table in the file. found: the position of the table.
HoleTable read_table(MetadataReader& reader, const format::Pointer& found);

// Returns the position of a complete block table if only the pointer to it is missing. rounds: the number of
// rounds that the holes show.
std::optional<format::Pointer> find_table(MetadataReader& reader, const Chunks& chunks, int64_t rounds);

}  // namespace sheaf

// multifile/recover/hole_table: reconstructs the blocks of a physical file without block table and journal
// from the holes of the sparse file.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "multifile/metadata/metadata_io.hpp"

namespace sheaf::multifile {

struct HoleTable {
  // Bytes by local task, for each round that contains data.
  std::map<int64_t, std::vector<int64_t>> rounds;
  std::vector<int64_t> counts;       // blocks of each task, >= 1
  std::vector<std::string> unknown;  // facts that the holes do not show
  int64_t guessed_ends = 0;          // number of chunks that end in a zero byte, which may be data or not

  // Returns the number of rounds, >= 1.
  int64_t blocks() const { return counts.empty() ? 1 : std::ranges::max(counts); }
  int64_t bytes(int64_t round, size_t task) const {
    const auto found = rounds.find(round);
    return found == rounds.end() ? 0 : found->second[task];
  }
  // Returns the bytes of all tasks in a round, for modification. Adds the round if it is missing.
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
// Reads the chunk sizes and computes the positions. Throws `damaged` if the chunks end beyond 2^63 bytes.
Chunks read_chunks(MetadataReader& reader);

// Returns the blocks that the holes show. Counts a chunk as used up to the last byte that is not in a hole.
// Throws what the reader and the file throw. Throws `damaged` if the block table would be far larger than the
// contents of the file: stray bytes then lie far beyond the data.
HoleTable read_holes(MetadataReader& reader, const Chunks& chunks);

// Adds to `table` the records of the journal that `p` describes. A finished chunk gets its recorded length;
// any other chunk gets at least its recorded length. Used for files with an incomplete journal
// (format::journal_gap_mark).
void add_records(MetadataReader& reader, const format::Pointer& p, HoleTable& table);

// Shortens every task's data to the part without gaps. A task's data end at the last nonzero byte of the
// first chunk that ends in zeros. Holes alone do not show this end: a page that two chunks share is a hole in
// neither. So a chunk may look full although its task left it early, because a record did not fit.
void leave_out_zeros(MetadataReader& reader, const Chunks& chunks, HoleTable& table);

// Reads the blocks from the block table at the position `found` in the file.
HoleTable read_table(MetadataReader& reader, const format::Pointer& found);

// Searches for a complete block table after the data, to which only the pointer is missing. Returns its
// position, or nothing. `rounds` is the number of rounds that the holes show.
std::optional<format::Pointer> find_table(MetadataReader& reader, const Chunks& chunks, int64_t rounds);

}  // namespace sheaf::multifile

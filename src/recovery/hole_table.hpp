// recovery/hole_table: the blocks of a physical file without block table and journal, from the holes of the
// sparse file.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metadata/metadata_io.hpp"

namespace sheaf {

struct HoleTable {
  std::map<int64_t, std::vector<int64_t>>
      rounds;                        // of those in which there is something: bytes by local task
  std::vector<int64_t> counts;       // blocks of each task, >= 1
  std::vector<std::string> unknown;  // what the holes cannot tell
  int64_t guessed_ends = 0;          // chunks that end in a zero, which may be data or not

  // Number of rounds, >= 1.
  int64_t blocks() const { return counts.empty() ? 1 : std::ranges::max(counts); }
  int64_t bytes(int64_t round, size_t task) const {
    const auto found = rounds.find(round);
    return found == rounds.end() ? 0 : found->second[task];
  }
  // All tasks, for who changes it.
  std::vector<int64_t>& round(int64_t number) {
    auto& row = rounds[number];
    row.resize(counts.size());
    return row;
  }
};

// Where the chunks of the tasks are.
struct Chunks {
  std::vector<int64_t> sizes;
  layout::FileLayout layout;
};
// Throws damaged if they end beyond 2^63 bytes.
Chunks read_chunks(MetadataReader& reader);

// A chunk counts as used up to the last byte that is not in a hole. Throws what the reader and the file
// throw, and damaged where the block table would be far larger than what is in the file: then bytes that
// nobody has written as data lie far behind.
HoleTable read_holes(MetadataReader& reader, const Chunks& chunks);

// Where the journal, of which `p` tells, knows more: chunks that are finished are as long as it says, and
// what else it says is the least there is. For files whose journal tells too little
// (format::journal_gap_mark).
void add_records(MetadataReader& reader, const format::Pointer& p, HoleTable& table);

// Shortens every task's data to what has no gap: they end with the first chunk that ends in zeros, and there
// with the last byte that is not zero. A page that two chunks share is no hole in either, and where a record
// did not fit, a chunk that is not full looks as if it were.
void leave_out_zeros(MetadataReader& reader, const Chunks& chunks, HoleTable& table);

// The blocks of which a table in the file tells. `found`: where it is.
HoleTable read_table(MetadataReader& reader, const format::Pointer& found);

// A whole block table where one can be expected if only the pointer to it is missing, `rounds` being what the
// holes show.
std::optional<format::Pointer> find_table(MetadataReader& reader, const Chunks& chunks, int64_t rounds);

}  // namespace sheaf

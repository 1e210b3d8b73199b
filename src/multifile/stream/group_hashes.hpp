// multifile/stream/group_hashes: the hashes of docs/format.md, section 14.2, computed from the contents of a
// physical file. Writers store them in the trailer; readers compare them with it. Local.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "storage/file.hpp"

namespace sheaf {

inline constexpr int64_t bytes_at_once = 1 << 20;  // checksums and tables held at a time

inline int64_t aligned8(int64_t offset) { return (offset + 7) / 8 * 8; }

// Contents of the file for one group of tasks.
struct GroupContents {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  std::vector<uint64_t> sums;  // data checksums of each task; any number in a crafted file

  uint64_t all_sums() const { return std::accumulate(sums.begin(), sums.end(), uint64_t{0}); }
};

// Fills `to` from `offset`. Throws damaged, with `what` in the message, if the file ends earlier.
void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what);

// Reads one group of tasks. `piece`: bytes per data checksum; 0: the file has none.
GroupContents read_contents(File& file, const format::Header& h, const format::Pointer& p, int64_t group,
                            uint32_t piece);

// Returns one hash for each group of entries [first, first + count) of the mapping of a set. `first` must
// begin a group.
std::vector<uint64_t> hashes_of_mapping(File& file, const format::Header& h, const format::Pointer& p,
                                        int64_t first, int64_t count);

}  // namespace sheaf

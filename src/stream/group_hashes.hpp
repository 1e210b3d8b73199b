// stream/group_hashes: the hashes of docs/format.md, section 14.2, computed from what a physical file holds:
// what writers put into the trailer and readers compare with it. Local.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "storage/file.hpp"

namespace sheaf {

inline constexpr int64_t bytes_at_once = 1 << 20;  // of checksums and tables that are held

inline int64_t aligned8(int64_t offset) { return (offset + 7) / 8 * 8; }

// What is in the file of a group of tasks.
struct GroupContents {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  std::vector<uint64_t> sums;  // data checksums of each task; of a crafted file, any number

  uint64_t all_sums() const { return std::accumulate(sums.begin(), sums.end(), uint64_t{0}); }
};

// Fills `to` from `offset`; throws damaged, naming `what`, if the file ends before.
void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what);

// Those of one group of tasks; `piece`: bytes per data checksum, 0: the file has none.
GroupContents read_contents(File& file, const format::Header& h, const format::Pointer& p, int64_t group,
                            uint32_t piece);

// One hash for each group of entries [first, first + count) of the mapping of a set; `first` begins a group.
std::vector<uint64_t> hashes_of_mapping(File& file, const format::Header& h, const format::Pointer& p,
                                        int64_t first, int64_t count);

}  // namespace sheaf

// multifile/stream/group_hashes: computes the hashes of the metadata of groups of tasks from a physical file
// (docs/format.md, section 14.3). Writers store the hashes in the trailer. Readers compare them with those in
// the trailer. All functions are local.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

inline constexpr int64_t bytes_at_once = 1 << 20;  // maximum size of checksums and tables in memory

inline int64_t aligned8(int64_t offset) { return (offset + 7) / 8 * 8; }

// Hashes and numbers computed from the file for one group of tasks.
struct GroupContents {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  std::vector<uint64_t> sums;  // number of data checksums of each task; may be any number in a crafted file

  uint64_t all_sums() const { return std::accumulate(sums.begin(), sums.end(), uint64_t{0}); }
};

// Fills `to` with the bytes at `offset`. Throws damaged, with `what` in the message, if the file has fewer
// bytes there.
void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what);

// Reads one group of tasks. `piece`: bytes per data checksum; 0: the file has none.
GroupContents read_contents(File& file, const format::Header& h, const format::Pointer& p, int64_t group,
                            uint32_t piece);

// Returns the hashes of entries [first, first + count) of the mapping of a set: one for each group of
// format::group_tasks entries. `first` must begin a group.
std::vector<uint64_t> hashes_of_mapping(File& file, const format::Header& h, const format::Pointer& p,
                                        int64_t first, int64_t count);

}  // namespace sheaf::multifile

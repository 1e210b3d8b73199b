// multifile/stream/group_hashes: computes the hashes of the metadata of a physical file (docs/format.md,
// section 14.3). Writers store them in the trailer, and readers compare them with it. All calls are local.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "storage/file.hpp"

namespace sheaf {

inline constexpr int64_t bytes_at_once = 1 << 20;  // bytes of checksums or tables in one buffer

inline int64_t aligned8(int64_t offset) { return (offset + 7) / 8 * 8; }

// Contents of the file for one group of tasks.
struct GroupContents {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  std::vector<uint64_t> sums;  // number of data checksums per task, not validated

  uint64_t all_sums() const { return std::accumulate(sums.begin(), sums.end(), uint64_t{0}); }
};

// Reads to.size() bytes at `offset`. Throws damaged if the file ends before them; `what` names the truncated
// table in the message.
void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what);

// Reads one group of tasks. `piece`: bytes per data checksum; 0: the file has none.
GroupContents read_contents(File& file, const format::Header& h, const format::Pointer& p, int64_t group,
                            uint32_t piece);

// Hashes entries [first, first + count) of the mapping of a set. Returns one hash per format::group_tasks
// entries. `first` must be a multiple of that number.
std::vector<uint64_t> hashes_of_mapping(File& file, const format::Header& h, const format::Pointer& p,
                                        int64_t first, int64_t count);

}  // namespace sheaf

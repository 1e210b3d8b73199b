#include "multifile/stream/group_hashes.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf::multifile {

void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what) {
  if (file.read_at(to, offset) == to.size()) return;
  file.revalidate();  // this host may have cached an old size of the file
  if (file.read_at(to, offset) != to.size())
    throw file_error(Code::damaged, file.path(), std::string("truncated inside the ") + what);
}

// Hashes the bytes as stored. Decodes numbers only to count the checksums, and does not trust them.
GroupContents read_contents(File& file, const format::Header& h, const format::Pointer& p, int64_t group,
                            uint32_t piece) {
  const int64_t first = group * format::group_tasks;
  const auto n = static_cast<size_t>(std::min(format::group_tasks, h.ntasks - first));
  const int64_t all = h.ntasks;
  GroupContents contents;
  std::vector<std::byte> bytes(8 * n);
  std::vector<int64_t> chunks(n), counts(n);
  format::Hash meta1, meta2;
  const auto add = [&](format::Hash& hash, int64_t offset, const char* what) {
    read_whole(file, bytes, offset + 8 * first, what);
    hash.add(bytes);
  };
  add(meta1, h.globalranks_offset(), "global ranks");
  add(meta1, h.chunksizes_offset(), "chunk sizes");
  format::decode(bytes, h.metadata_order, std::span(chunks));
  add(meta2, p.varheader, "block counts");
  format::decode(bytes, h.metadata_order, std::span(counts));
  contents.sums.resize(n);
  // Rounds are adjacent if the group is the whole file.
  const int64_t rounds_at_once =
      static_cast<int64_t>(n) == all ? std::max<int64_t>(1, bytes_at_once / (8 * all)) : 1;
  for (int64_t round = 0; round < p.maxblocks;) {
    const int64_t rounds = std::min<int64_t>(rounds_at_once, p.maxblocks - round);
    bytes.resize(8 * n * static_cast<size_t>(rounds));
    add(meta2, p.varheader + 8 * all * (1 + round), "block sizes");
    for (size_t i = 0; i < bytes.size() / 8; ++round)
      for (size_t t = 0; t < n; ++t, ++i) {
        const auto size = load<int64_t>(bytes.data() + 8 * i, h.metadata_order);
        if (piece > 0 && round < counts[t] && size > 0 && chunks[t] > 0)
          contents.sums[t] += static_cast<uint64_t>(format::sums_of_block(size, chunks[t], piece));
      }
  }
  contents.meta1 = meta1.value();
  contents.meta2 = meta2.value();
  return contents;
}

std::vector<uint64_t> hashes_of_mapping(File& file, const format::Header& h, const format::Pointer& p,
                                        int64_t first, int64_t count) {
  SHEAF_ASSERT(first >= 0 && first % format::group_tasks == 0 && count >= 0);
  const int64_t begin = p.varheader + layout::meta2_size(h.ntasks, p.maxblocks);
  std::vector<uint64_t> hashes;
  std::vector<std::byte> bytes;
  for (int64_t entry = first; entry < first + count; entry += format::group_tasks) {
    const int64_t n = std::min(format::group_tasks, first + count - entry);
    const int64_t size_field = entry == 0 ? 4 : 0;
    bytes.resize(static_cast<size_t>(8 * n + size_field));
    read_whole(file, bytes, begin + 4 + 8 * entry - size_field, "mapping of the set");
    hashes.push_back(format::hash_of(bytes));
  }
  return hashes;
}

}  // namespace sheaf::multifile

#include "multifile/create/packed_file.hpp"

#include "base/checked.hpp"
#include "multifile/metadata/metadata_io.hpp"

namespace sheaf::multifile {

namespace {

std::vector<int64_t> chunks_for(const std::vector<int64_t>& lengths, const format::Header& header) {
  std::vector<int64_t> chunks;
  for (const int64_t length : lengths) chunks.push_back(layout::aligned_chunk(length, header.fsblksize));
  return chunks;
}

}  // namespace

layout::FileLayout packed_layout(const std::vector<int64_t>& lengths, const format::Header& header) {
  return layout::lay_out(chunks_for(lengths, header), header.fsblksize);
}

void complete_packed_file(File& file, const PackedFile& packed) {
  const format::Header& header = packed.header;
  MetadataWriter writer(file, header);
  const std::vector<int64_t> chunks = chunks_for(packed.lengths, header);
  const layout::FileLayout layout = layout::lay_out(chunks, header.fsblksize);
  writer.write_ranks_and_sizes(0, packed.globalranks, chunks);
  const std::vector<int64_t> counts(chunks.size(), 1);
  const format::Pointer p{chunks.empty() ? 0 : 1,
                          must_fit(checked_add(layout.data_start, layout.skip), "the multifile")};
  write_block_table(
      writer, p, 0, counts, [&](size_t t, int64_t) { return packed.lengths[t]; }, 0);
  const int64_t entries = packed.mapping_entries();
  if (entries >= 0) writer.write_mapping_size(p, static_cast<int32_t>(entries));
  if (entries > 0) writer.write_mapping(p, 0, packed.mapping);
  if (packed.piece() > 0) {
    int64_t all = 0;
    for (const auto& own : packed.sums) all += std::ssize(own);
    const format::Trailer plan =
        plan_trailer(header, p, packed.extension->identity, all, entries, packed.more);
    TrailerWriter(file, header, plan, packed.piece())
        .write_all(entries, packed.more, [&](TrailerWriter& trailer) {
          for (const auto& own : packed.sums) trailer.add_sums(std::as_bytes(std::span(own)));
        });
  }
  writer.write_pointer(p);
}

}  // namespace sheaf::multifile

#include "multifile/buddy/table.hpp"

#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile::buddy {

Table read_table(MetadataReader& reader) {
  Table table;
  table.facts = {.header = reader.header(), .pointer = reader.read_pointer(), .extension = std::nullopt};
  const format::Header& h = table.facts.header;
  const format::Pointer& p = table.facts.pointer;
  if (h.leads_set()) table.facts.entries = static_cast<size_t>(reader.read_mapping_size(p));
  if (FileChecks* const checks = reader.checks(p)) {
    table.facts.extension = reader.extension();
    table.sums = checks->read_sums(0, h.ntasks);
    table.facts.sums = table.sums.size();
  }
  table.for_each_part([](auto& part, size_t length) { part.resize(length); });
  reader.read_globalranks(0, table.ranks);
  reader.read_chunk_sizes(0, table.chunks);
  reader.read_block_counts(p, 0, table.counts);
  const auto n = static_cast<size_t>(h.ntasks);
  for (int64_t round = 0; round < p.maxblocks; ++round)
    reader.read_block_sizes(p, round, 0, std::span(table.sizes).subspan(static_cast<size_t>(round) * n, n));
  if (!table.mapping.empty()) reader.read_mapping(p, 0, table.mapping);
  return table;
}

void write_table(File& file, const Table& table) {
  const auto& [h, p, extension, entries, sums] = table.facts;
  MetadataWriter writer(file, h);
  writer.write_header(extension);
  writer.write_ranks_and_sizes(0, table.ranks, table.chunks);
  writer.write_block_counts(p, 0, table.counts);
  writer.write_block_sizes(p, 0, 0, table.sizes);
  if (h.leads_set()) {
    writer.write_mapping_size(p, static_cast<int32_t>(entries));
    writer.write_mapping(p, 0, table.mapping);
  }
  if (extension) {
    const int64_t mapped = h.leads_set() ? static_cast<int64_t>(entries) : -1;
    const format::Trailer plan = plan_trailer(h, p, extension->identity, static_cast<int64_t>(sums), mapped);
    TrailerWriter(file, h, plan, extension->piece).write_all(mapped, {}, [&](TrailerWriter& trailer) {
      trailer.add_sums(std::as_bytes(std::span(table.sums)));
    });
  }
  writer.write_pointer(p);
}

}  // namespace sheaf::multifile::buddy

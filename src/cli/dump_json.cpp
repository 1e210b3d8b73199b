// cli/dump_json: all metadata of a multifile as JSON (docs/tools/sheaf-dump.md). Large parts are written as
// they are made, so that a multifile of very many tasks needs no more memory than its metadata.
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/compression.hpp"
#include "cli/json.hpp"
#include "multifile/keyval_check.hpp"
#include "multifile/usage.hpp"

namespace sheaf::cli {

namespace {

const char* name_of(ByteOrder order) { return order == ByteOrder::big ? "big" : "little"; }
std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string order_word(const format::Header& h) {
  char word[16];
  const int meta = static_cast<int>(h.metadata_order);
  const int user = static_cast<int>(h.userdata_order);
  std::snprintf(word, sizeof word, "%02x%02x%02x%02x", meta, user, user, meta);
  return word;
}

Json whole(const Multifile& m) {
  const format::Header& h = m.files.front().header;
  Json files = Json::array();
  for (const PhysicalFile& f : m.files)
    files.push_back({{"name", base_name(f.path())}, {"size", f.file->status().size}});
  Json json = {
      {"main", base_name(m.path)},
      {"files", files},
      {"format_version", h.version},
      {"sionlib_version", std::to_string(h.library / 1000) + "." + std::to_string(h.library % 1000) + "." +
                              std::to_string(h.patch)},
      {"metadata_byte_order", name_of(h.metadata_order)},
      {"userdata_byte_order", name_of(h.userdata_order)},
      {"endianness_word_hex_bytes", order_word(h)},
      {"ntasks", m.ntasks()},
      {"nfiles", m.files.size()},
      {"fsblksize", h.fsblksize},
      {"keyvalmode", static_cast<int>(h.keyval())},
      {"flag1", stored_flag1(h)},
      {"flag2", h.flag2},
      {"prefix", h.prefix.data()},
  };
  if (!m.closed()) json["unclosed"] = true;
  if (m.files.front().extension && m.files.front().extension->checksums()) json["checksums"] = true;
  add_compression(json, m);
  return json;
}

Json physical(const Multifile& m, size_t number) {
  const PhysicalFile& f = m.files[number];
  const auto mapping = stored_mapping(m, number);
  Json pairs;
  if (mapping) {
    pairs = Json::array();
    for (const layout::Placement& at : *mapping) pairs.push_back({at.file, at.local_rank});
  }
  Json rounds = Json::array();
  const auto n = static_cast<std::ptrdiff_t>(f.header.ntasks);
  for (std::ptrdiff_t b = 0; b < f.pointer.maxblocks; ++b)
    rounds.push_back(
        std::vector<int64_t>(f.block_sizes.begin() + b * n, f.block_sizes.begin() + (b + 1) * n));
  return {
      {"file", base_name(f.path())},
      {"filenumber", f.header.filenumber},
      {"ntasks", f.header.ntasks},
      {"globalskip", f.layout.skip},
      {"max_blocks", f.pointer.maxblocks},
      {"start_of_meta2", f.pointer.varheader},
      {"mapping_size", mapping ? Json(mapping->size()) : Json()},
      {"mapping", pairs},
      {"raw_blocksizes", rounds},
  };
}

Json task(const Multifile& m, int64_t t, int64_t stored_chunk, bool with_records) {
  const layout::Placement at = m.place(t);
  const layout::ChunkGeometry geometry = m.geometry(t);
  const BlockSizes sizes = m.sizes_of(t);
  Json block_sizes = Json::array();
  Json offsets = Json::array();
  for (int64_t b = 0; b < sizes.count; ++b) {
    block_sizes.push_back(sizes[b]);
    offsets.push_back(geometry.offset(b));
  }
  Json json = {
      {"rank", t},
      {"globalrank", m.globalrank(t)},
      {"file", at.file},
      {"lrank", at.local_rank},
      {"chunksize", stored_chunk},
      {"blockcount", sizes.count},
      {"blocksizes", block_sizes},
      {"block_offsets", offsets},
      {"length", sizes.total()},
  };
  if (m.file_of(t).header.compressed) {
    ReadStream stream;
    load_stream(stream, m, t);
    json["plain_length"] = stream.sizes().total();
  }
  if (with_records && has_records(m)) {
    Json records = Json::array();
    for_each_record(m, t, [&](const KeyvalRecord& r) {
      records.push_back({{"key", r.key}, {"length", r.length}});
    });
    json["records"] = std::move(records);
  }
  return json;
}

}  // namespace

void dump_json(const Multifile& m, bool with_records) {
  if (with_records) check_keyval_records(m);  // better no JSON than half of one
  std::string head = text_of(whole(m), 1);
  head.resize(head.rfind('\n'));  // without the closing brace
  std::printf("%s,\n \"physical\": [", head.c_str());
  for (size_t k = 0; k < m.files.size(); ++k)
    std::printf("%s\n  %s", k > 0 ? "," : "", text_of(physical(m, k)).c_str());
  std::printf("\n ],\n \"tasks\": [");
  std::vector<std::vector<int64_t>> chunks;
  for (const PhysicalFile& f : m.files) chunks.push_back(stored_chunk_sizes(f));
  for (int64_t t = 0; t < m.ntasks(); ++t) {
    const layout::Placement at = m.place(t);
    const int64_t chunk = chunks[static_cast<size_t>(at.file)][static_cast<size_t>(at.local_rank)];
    std::printf("%s\n  %s", t > 0 ? "," : "", text_of(task(m, t, chunk, with_records)).c_str());
  }
  std::printf("\n ]\n}\n");
}

}  // namespace sheaf::cli

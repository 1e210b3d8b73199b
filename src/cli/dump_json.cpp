// cli/dump_json: prints all metadata of a multifile as JSON (docs/tools/sheaf-dump.md). Prints large parts
// while it generates them, so that memory does not grow with the number of tasks.
#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/commands.hpp"
#include "cli/compression.hpp"
#include "cli/json/json.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/usage.hpp"

namespace sheaf::cli {

using multifile::Multifile;
using multifile::PhysicalFile;
using multifile::TaskRow;

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string order_word(const format::Header& h) {
  return fmt::format("{0:02x}{1:02x}{1:02x}{0:02x}", static_cast<int>(h.metadata_order),
                     static_cast<int>(h.userdata_order));
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
      {"sionlib_version", fmt::format("{}.{}.{}", h.library / 1000, h.library % 1000, h.patch)},
      {"metadata_byte_order", name_of(h.metadata_order)},
      {"userdata_byte_order", name_of(h.userdata_order)},
      {"endianness_word_hex_bytes", order_word(h)},
      {"ntasks", m.ntasks()},
      {"nfiles", m.files.size()},
      {"fsblksize", h.fsblksize},
      {"keyvalmode", static_cast<int>(h.keyval())},
      {"flag1", multifile::stored_flag1(h)},
      {"flag2", h.flag2},
      {"prefix", h.prefix.data()},
  };
  if (!m.closed()) json["unclosed"] = true;
  if (h.guessed) json["guessed"] = m.guessed_ends();
  if (m.files.front().extension && m.files.front().extension->checksums()) json["checksums"] = true;
  if (h.encoded) json["encoded"] = true;
  add_compression(json, m);
  return json;
}

// Prints the metadata of one physical file. Prints the mapping and the table of block sizes in slices,
// because they may exceed memory.
void print_physical(const Multifile& m, size_t number) {
  const PhysicalFile& f = m.files[number];
  const auto mapping = multifile::stored_mapping_size(m, number);
  const Json front = {
      {"file", base_name(f.path())},
      {"filenumber", f.header.filenumber},
      {"ntasks", f.header.ntasks},
      {"globalskip", f.skip()},
      {"max_blocks", f.pointer.maxblocks},
      {"start_of_meta2", f.pointer.varheader},
      {"mapping_size", mapping ? Json(*mapping) : Json()},
  };
  std::string text = text_of(front);
  text.pop_back();  // remove the closing brace
  std::printf("%s,\"mapping\":%s", text.c_str(), mapping ? "[" : "null");
  const char* comma = "";
  if (mapping)
    multifile::for_each_stored_entry(m, number, [&](layout::Placement at) {
      std::printf("%s[%d,%d]", std::exchange(comma, ","), at.file, at.local_rank);
    });
  std::printf("%s,\"raw_blocksizes\":[", mapping ? "]" : "");
  for (int64_t round = 0; round < f.pointer.maxblocks; ++round) {
    std::printf("%s[", round > 0 ? "," : "");
    layout::for_each_slice(0, f.header.ntasks, 128 << 10, [&](int64_t first, std::span<int64_t> sizes) {
      f.table->read_stored_sizes(round, first, sizes);
      std::printf("%s%s", first > 0 ? "," : "", fmt::format("{}", fmt::join(sizes, ",")).c_str());
    });
    std::printf("]");
  }
  std::printf("]}");
}

void print_task(const Multifile& m, int64_t t, const TaskRow& row, bool with_records) {
  Json sizes = Json::array();
  Json offsets = Json::array();
  for (int64_t b = 0; b < row.sizes.count; ++b) {
    sizes.push_back(row.sizes[b]);
    offsets.push_back(row.geometry.offset(b));
  }
  Json task = {
      {"rank", t},
      {"globalrank", row.globalrank},
      {"file", row.place.file},
      {"lrank", row.place.local_rank},
      {"chunksize", row.stored_chunk},
      {"blockcount", row.sizes.count},
      {"blocksizes", std::move(sizes)},
      {"block_offsets", std::move(offsets)},
      {"length", row.sizes.total()},
  };
  if (m.file_of(row).header.compressed) {
    multifile::ReadStream stream;
    multifile::load_stream(stream, m, t, row);
    task["plain_length"] = stream.sizes().total();
  }
  if (with_records && multifile::has_records(m)) {
    Json& records = task["records"] = Json::array();
    multifile::for_each_record(m, t, row, [&](const multifile::KeyvalRecord& r) {
      records.push_back({{"key", r.key}, {"length", r.length}});
    });
  }
  std::fputs(text_of(task).c_str(), stdout);
}

}  // namespace

void dump_json(const Multifile& m, bool with_records) {
  multifile::WorkProgress nobody;
  if (with_records) multifile::check_keyval_records(m, nobody);  // fail before any output
  std::string head = text_of(whole(m), 1);
  head.resize(head.rfind('\n'));  // without the closing brace
  std::printf("%s,\n \"physical\": [", head.c_str());
  for (size_t k = 0; k < m.files.size(); ++k) {
    std::printf("%s\n  ", k > 0 ? "," : "");
    print_physical(m, k);
  }
  std::printf("\n ],\n \"tasks\": [");
  multifile::for_each_row(m, [&](int64_t t, const TaskRow& row) {
    std::printf("%s\n  ", t > 0 ? "," : "");
    print_task(m, t, row, with_records);
  });
  std::printf("\n ]\n}\n");
}

}  // namespace sheaf::cli

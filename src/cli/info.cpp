// cli/info: implements `sheaf info`, which prints information about Sheaf itself or a summary of one
// multifile.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/printable.hpp"
#include "cli/about/build.hpp"
#include "cli/commands.hpp"
#include "cli/compression.hpp"
#include "cli/json/json.hpp"
#include "cli/named/named.hpp"
#include "cli/rows.hpp"
#include "cli/terminal.hpp"
#include "multifile/frames/stored_frames.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/tools/defaults.hpp"
#include "multifile/tools/usage.hpp"
#include "sfio/striped_store.hpp"
#include "streams/container/container_names.hpp"

namespace sheaf::cli {

using multifile::Default;
using multifile::Multifile;
using multifile::PhysicalFile;

namespace {

std::string sized(int64_t bytes) {
  return bytes < 1024 ? in_units(bytes) : fmt::format("{} bytes ({})", bytes, in_units(bytes));
}

Json about_sheaf() {
  Json table = Json::array();
  for (const Default& d : multifile::defaults())
    table.push_back({{"name", d.name}, {"value", d.value}, {"change", d.change}});
  const char* flags = std::getenv("SHEAF_FLAGS");
  const Build build = this_build();
  return {
      {"version", SHEAF_VERSION},
      {"build", build.compiler},
      {"mpi", build.mpis},
      {"features", build.features},
      {"format_versions", fmt::format("writes {}, reads {} to {}", format::newest_version,
                                      format::oldest_version, format::newest_version)},
      {"byte_order", name_of(native_order)},
      {"defaults", table},
      {"open_mode_words", std::string(multifile::known_words())},
      {"environment", {{"SHEAF_FLAGS", flags ? Json(flags) : Json()}}},
  };
}

void print_about() {
  const Json about = about_sheaf();
  const auto text = [&](const char* key) { return about[key].text(); };
  print_rows(summary_width, {{"sheaf", text("version")}});
  print_rows(summary_width, rows_of_build());
  print_rows(summary_width, {{"file format", text("format_versions")}, {"byte order", text("byte_order")}});
  fmt::print("\ndefaults\n");
  for (const Default& d : multifile::defaults())
    fmt::print("  {:<32}{}{}\n", d.name, d.value, d.change.empty() ? "" : "  [" + d.change + "]");
  fmt::print("\nwords of the open mode\n  {}\n", multifile::known_words());
  const Json& flags = about["environment"]["SHEAF_FLAGS"];
  fmt::print("\nenvironment\n  SHEAF_FLAGS  words added to every open mode{}\n",
             flags.is_null() ? "; not set" : fmt::format("; now \"{}\"", printable(flags.text())));
}

// Returns the uncompressed size of a compressed multifile in bytes. Reads the heads of all frames.
int64_t plain_bytes(const Multifile& m) {
  int64_t sum = 0;
  multifile::ReadStream stored;
  stored.buffer().set_max(4 << 10);
  multifile::for_each_row(m, [&](int64_t t, const multifile::TaskRow& row) {
    const PhysicalFile& f = m.file_of(row);
    if (!f.header.compressed) {
      sum += row.sizes.total();
      return;
    }
    stored.load(f.file, row.geometry, row.sizes, {}, row.sums);
    multifile::for_each_frame(stored, {t, row.geometry, !f.pointer.complete()},
                              [&](const format::Frame& frame) { sum += frame.used; });
  });
  return sum;
}

// Returns the identity of the generation, or null.
Json generation_of(const Multifile& m) {
  const auto& extension = m.files.front().extension;
  return extension ? Json(format::digits_of(extension->identity)) : Json();
}

Json about_file(const Multifile& m) {
  const format::Header& h = m.files.front().header;
  const multifile::Usage usage = multifile::usage_of(m);
  int64_t size = 0;
  int64_t allocated = 0;
  for (const PhysicalFile& f : m.files) {
    const FileStatus status = f.file->status();
    size += status.size;
    allocated += status.allocated;
  }
  Json json = {
      {"file", m.path},
      {"state", m.closed() ? "complete" : "unclosed"},
      {"tasks", m.ntasks()},
      {"physical_files", m.files.size()},
      {"files_of_the_set", h.nfiles},
      {"data_bytes", usage.data_bytes},
      {"file_bytes", size},
      {"allocated_bytes", allocated},
      {"efficiency",
       allocated > 0 ? Json(static_cast<double>(usage.data_bytes) / static_cast<double>(allocated)) : Json()},
      {"chunk_bytes", usage.chunk_bytes},
      {"block_size", h.fsblksize},
      {"blocks", m.maxblocks()},
      {"keyval", multifile::has_records(m)},
      {"encoded", h.encoded},
      {"guessed", h.guessed},
      {"guessed_chunk_ends", m.guessed_ends()},
      {"checksums",
       std::ranges::any_of(m.files,
                           [](const PhysicalFile& f) { return f.extension && f.extension->checksums(); })},
      {"metadata_byte_order", name_of(h.metadata_order)},
      {"userdata_byte_order", name_of(h.userdata_order)},
      {"generation", generation_of(m)},
      {"format_version", h.version},
      {"written_by", fmt::format("{}.{}.{}", h.library / 1000, h.library % 1000, h.patch)},
      {"prefix", h.prefix.data()},
  };
  if (m.compressed()) {
    add_compression(json, m);
    json["plain_bytes"] = plain_bytes(m);
  }
  if (m.ntasks() > 0) {
    json["largest_task"] = {{"task", usage.largest.task}, {"bytes", usage.largest.bytes}};
    json["smallest_task"] = {{"task", usage.smallest.task}, {"bytes", usage.smallest.bytes}};
  }
  return json;
}

Row row_of_task(const char* label, const Json& task) {
  return {label, fmt::format("{} with {}", task["task"].number(), sized(task["bytes"].number()))};
}

void print_summary(const Json& j) {
  const auto number = [&](const char* key) { return j[key].number(); };
  const auto text = [&](const char* key) { return j[key].text(); };
  const auto yes = [&](const char* key) { return j[key].truth() ? "yes" : "no"; };
  const int64_t files = number("files_of_the_set");
  const bool alone = files > number("physical_files");
  std::vector<Row> rows = {{"file", text("file")},
                           {"state", text("state")},
                           {"tasks", std::to_string(number("tasks"))},
                           {"physical files", alone ? fmt::format("1, a member of a set of {}", files)
                                                    : std::to_string(number("physical_files"))},
                           {"data", sized(number("data_bytes"))}};
  const auto add = [&](std::initializer_list<Row> more) { rows.insert(rows.end(), more); };
  if (j["guessed"].truth())
    add({{"guessed", fmt::format("yes: a repair could not tell where {} chunk(s) end",
                                 j["guessed_chunk_ends"].number())}});
  if (j.contains("compression")) {
    const Json& c = j["compression"];
    add({{"compressed", fmt::format("{}, level {}, shuffle {}, frames of {}", c["codec"].text(),
                                    c["level"].number(), c["shuffle"].number(), sized(c["frame"].number()))},
         {"uncompressed", sized(number("plain_bytes"))}});
  }
  add({{"size of the files", sized(number("file_bytes"))}, {"on disk", sized(number("allocated_bytes"))}});
  if (!j["efficiency"].is_null())
    add({{"efficiency", fmt::format("{:.1f}% (data / on disk)", 100 * j["efficiency"].real())}});
  add({{"chunks", sized(number("chunk_bytes"))},
       {"blocks", std::to_string(number("blocks"))},
       {"block size", sized(number("block_size"))},
       {"checksums", yes("checksums")},
       {"key-value records", yes("keyval")},
       {"byte order",
        fmt::format("metadata {}, user data {}", text("metadata_byte_order"), text("userdata_byte_order"))},
       {"format version", fmt::format("{}{}, written by library {}", number("format_version"),
                                      j["encoded"].truth() ? ", encoded" : "", text("written_by"))},
       {"stored name", text("prefix")}});
  if (!j["generation"].is_null()) add({{"generation", text("generation")}});
  if (j.contains("largest_task"))
    add({row_of_task("largest task", j["largest_task"]), row_of_task("smallest task", j["smallest_task"])});
  print_rows(summary_width, rows);
}

}  // namespace

void print_info(const Multifile& multifile, bool json) {
  const Json about = about_file(multifile);
  if (json)
    fmt::print("{}\n", text_of(about, 1));
  else
    print_summary(about);
}

int info(const InfoOptions& options) {
  if (options.path.empty()) {
    if (options.json)
      fmt::print("{}\n", text_of(about_sheaf(), 1));
    else
      print_about();
    return 0;
  }
  raise_descriptor_limit();
  if (streams::is_container_set(posix_store(), options.path)) return info_of_containers(options);
  print_info(load(options.path, options.ignore_checksums), options.json);
  return 0;
}

}  // namespace sheaf::cli

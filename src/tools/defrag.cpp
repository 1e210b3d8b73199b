#include "tools/defrag.hpp"

#include <algorithm>

#include "creation/copy_stream.hpp"
#include "creation/output_set.hpp"
#include "creation/packed_file.hpp"
#include "creation/work_threads.hpp"
#include "keyval/keyval_check.hpp"
#include "metadata/task_names.hpp"
#include "metadata/task_rows.hpp"
#include "mode/open_mode.hpp"
#include "stream/file_checks.hpp"
#include "stream/task_blocks.hpp"
#include "tools/compress_streams.hpp"
#include "tools/constants.hpp"

namespace sheaf {

namespace {

format::Header header_of_result(const Multifile& m, const DefragRequest& request) {
  if (m.ntasks() > INT32_MAX) throw file_error(Code::invalid_argument, m.path, "more than 2^31-1 tasks");
  const format::Header& first = m.files.front().header;
  const bool records = has_records(m);
  for (const PhysicalFile& f : m.files)
    if (records && f.header.metadata_order != first.metadata_order)
      throw file_error(
          Code::unsupported, f.path(),
          "has another byte order than '" + m.path + "': their records do not fit into one file");
  format::Header h{{
      // The words in front of each record are metadata and are copied as they are.
      .metadata_order = records ? first.metadata_order : native_order,
      .userdata_order = first.userdata_order,
      .fsblksize = request.fsblksize > 0 ? request.fsblksize : first.fsblksize,
      .ntasks = static_cast<int32_t>(m.ntasks()),
      .filenumber = 1,  // as the serial writers of the format
      .flag1 = format::Header::flag_of(first.keyval()),
  }};
  h.set_name(format::physical_name(request.output, 0));
  return h;
}

// Checksums if the source has some: else the result is the plain file it always was. Frames are copied as
// they are.
std::optional<format::Extension> extension_of_result(const Multifile& m, const format::Header& header,
                                                     const codec::Compression& how) {
  const bool checked = std::ranges::any_of(
      m.files, [](const PhysicalFile& f) { return f.extension && f.extension->checksums(); });
  const bool compressed = m.compressed();
  for (const PhysicalFile& f : m.files)
    if (f.header.compressed != compressed)
      throw file_error(Code::unsupported, f.path(),
                       "is compressed or not, unlike other files of the set: use --decompress");
  if (compressed && !m.closed())
    throw file_error(
        Code::unclosed, m.path,
        "was not closed, and may end in a part of a frame: use --decompress, or `sheaf repair` first");
  const bool guessed = m.files.front().header.guessed;
  if (!compressed && !how.on() && ((!checked && !guessed) || !format::extensible(header.name())))
    return std::nullopt;
  OpenMode mode;
  mode.journal = false;
  mode.checksums = checked;
  mode.compression = how;
  if (const auto& first = m.files.front().extension; compressed && first)
    mode.compression = {first->codec, first->level, first->shuffle, first->frame};
  auto made = mode.extension();
  if (!guessed) return made;
  if (!made) made.emplace().identity = new_identity();
  made->flags |= format::flag_guessed;
  made->guessed_ends = m.guessed_ends();
  return made;
}

// In shares of neighbours, whose ranges may join. Writing into one file goes one at a time, reading goes
// beside it.
void copy_streams(const Multifile& m, File& file, PackedFile& packed, WorkProgress& progress) {
  for_each_row(m, [&](int64_t, const TaskRow& row) { packed.lengths.push_back(row.sizes.total()); });
  packed.sums.resize(packed.lengths.size());
  const uint32_t piece = packed.piece();
  const layout::FileLayout layout = packed_layout(packed.lengths, packed.header);
  const int64_t average = m.data_bytes() / std::max<int64_t>(1, m.ntasks());
  const int64_t share =
      std::max({m.ntasks() / 64, std::min<int64_t>(16, tools::bytes_of_share / std::max<int64_t>(1, average)),
                int64_t{1}});
  on_threads((m.ntasks() + share - 1) / share, progress, [&](int64_t i) { return i * share; },
             [&](int64_t, int64_t first, WorkProgress& shared) {
               RangeCopier copier(file, shared);
               TaskRows rows(m);
               for (int64_t t = first; t < std::min(first + share, m.ntasks()); ++t) {
                 const auto i = static_cast<size_t>(t);
                 const TaskRow& row = rows.at(t);
                 if (piece > 0) {
                   copy_stream(m.file_of(row), row, file, layout.starts[i], shared, piece, &packed.sums[i]);
                 } else {
                   copier.add_stream(m.file_of(row), row, layout.starts[i]);
                 }
               }
               copier.finish();
             });
}

}  // namespace

void defrag(Store& store, const Multifile& given, const DefragRequest& request, WorkProgress& progress) {
  const bool wants_plain = request.plain || request.compression.on();
  const std::optional<Multifile> plain =
      wants_plain && given.compressed() ? std::optional(plain_view(given)) : std::nullopt;
  const Multifile& m = plain ? *plain : given;
  const format::Header header = header_of_result(m, request);
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse);
  outputs.check(request.output);
  outputs.own(request.output);
  progress.begin(m.data_bytes());
  check_keyval_records(m, progress);
  const auto file = outputs.add(request.output, m.files.front().path());
  progress.begin_output(0, request.output);
  std::vector<format::TaskName> names = read_task_names(given).names;
  PackedFile packed{.header = header, .extension = extension_of_result(m, header, request.compression)};
  MetadataWriter(*file, header).write_header(packed.extension);
  for_each_row(m, [&](int64_t, const TaskRow& row) { packed.globalranks.push_back(row.globalrank); });
  if (request.compression.on())
    compress_streams(m, request.compression, file, packed, progress);
  else
    copy_streams(m, *file, packed, progress);
  if (packed.piece() > 0) packed.more = sections_of({.names = std::move(names)});
  complete_packed_file(*file, packed);
  require_unchanged(given);
  if (request.replace) file->sync();  // what it replaces may be the only copy, and the input
  file->close();
  outputs.commit();
}

}  // namespace sheaf

#include "multifile/tools/defrag.hpp"

#include <algorithm>
#include <functional>

#include "base/checked.hpp"
#include "layout/placement.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/create/new_set.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/create/packed_file.hpp"
#include "multifile/create/work_threads.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/task_blocks.hpp"
#include "multifile/tools/compress_streams.hpp"
#include "multifile/tools/constants.hpp"

namespace sheaf::multifile {

namespace {

// Returns the header of the first output file.
format::Header header_of_result(const Multifile& m, const DefragRequest& request) {
  if (m.ntasks() > INT32_MAX) throw file_error(Code::invalid_argument, m.path, "more than 2^31-1 tasks");
  if (request.nfiles < 1 || (request.nfiles > 1 && request.nfiles > m.ntasks()))
    throw file_error(Code::invalid_argument, m.path,
                     "has " + std::to_string(m.ntasks()) + " tasks, which cannot be in " +
                         std::to_string(request.nfiles) + " physical files");
  const format::Header& first = m.files.front().header;
  const bool records = has_records(m);
  for (const PhysicalFile& f : m.files)
    if (records && f.header.metadata_order != first.metadata_order)
      throw file_error(
          Code::unsupported, f.path(),
          "has another byte order than '" + m.path + "': their records do not fit into one file");
  format::Header h{{
      // Key and length of a record are in the byte order of the metadata and are copied unchanged.
      .metadata_order = records ? first.metadata_order : native_order,
      .userdata_order = first.userdata_order,
      .fsblksize = request.fsblksize > 0 ? request.fsblksize : first.fsblksize,
      .ntasks = static_cast<int32_t>(m.ntasks()),
      .nfiles = request.nfiles,
      .filenumber = request.nfiles == 1 ? 1 : 0,  // 1: as serial writers of the format do
      .flag1 = format::Header::flag_of(first.keyval()),
  }};
  h.set_name(format::physical_name(request.output, 0));
  if (request.nfiles > 1 && !format::extensible(h.name()))
    throw file_error(Code::invalid_argument, request.output,
                     "the name is too long for a set of several physical files; at most " +
                         std::to_string(format::max_extended_name) + " bytes fit");
  return h;
}

// Throws unless the frames of compressed files can be copied unchanged.
void require_whole_frames(const Multifile& m) {
  for (const PhysicalFile& f : m.files)
    if (f.header.compressed != m.compressed())
      throw file_error(Code::unsupported, f.path(),
                       "is compressed or not, unlike other files of the set: use --decompress");
  if (m.compressed() && !m.closed())
    throw file_error(
        Code::unclosed, m.path,
        "was not closed, and may end in a part of a frame: use --decompress, or `sheaf repair` first");
}

// Returns the extension header of the result, if it needs one. The result has checksums if any input file has
// checksums. Frames are copied unchanged, so the codec stays the same.
std::optional<format::Extension> extension_of_result(const Multifile& m, const format::Header& header,
                                                     const codec::Compression& how) {
  const bool checked = std::ranges::any_of(
      m.files, [](const PhysicalFile& f) { return f.extension && f.extension->checksums(); });
  const bool compressed = m.compressed();
  require_whole_frames(m);
  const bool guessed = m.files.front().header.guessed;
  // The identity distinguishes the files of a set from those of another set.
  const bool needs_none = !checked && !guessed && header.nfiles == 1;
  if (!compressed && !how.on() && (needs_none || !format::extensible(header.name()))) return std::nullopt;
  OpenMode mode;
  mode.journal = false;
  mode.checksums = checked;
  mode.compression = how;
  if (const auto& first = m.files.front().extension; compressed && first)
    mode.compression = {first->codec, first->level, first->shuffle, first->frame};
  auto made = mode.extension();
  if (!made && header.nfiles > 1) made.emplace().identity = new_identity();
  if (!guessed) return made;
  if (!made) made.emplace().identity = new_identity();
  made->flags |= format::flag_guessed;
  made->guessed_ends = m.guessed_ends();
  return made;
}

// Copies the streams of tasks from `first` on with several threads. Each share of the work has neighbouring
// tasks, whose extents may be merged. The file system serializes the writes to one file; reads run
// concurrently.
void copy_streams(const Multifile& m, int64_t first, File& file, PackedFile& packed, WorkProgress& progress) {
  const int64_t ntasks = packed.header.ntasks;
  int64_t bytes = 0;
  for_each_row(m, first, first + ntasks, [&](int64_t, const TaskRow& row) {
    packed.lengths.push_back(row.sizes.total());
    bytes = saturated_add(bytes, packed.lengths.back());
  });
  packed.sums.resize(packed.lengths.size());
  const uint32_t piece = packed.piece();
  const layout::FileLayout layout = packed_layout(packed.lengths, packed.header);
  const int64_t average = bytes / std::max<int64_t>(1, ntasks);
  const int64_t share =
      std::max({ntasks / 64, std::min<int64_t>(16, tools::bytes_of_share / std::max<int64_t>(1, average)),
                int64_t{1}});
  on_threads((ntasks + share - 1) / share, progress, [&](int64_t i) { return i * share; },
             [&](int64_t, int64_t begin, WorkProgress& shared) {
               RangeCopier copier(file, shared);
               const int64_t end = std::min(begin + share, ntasks);
               for_each_row(m, first + begin, first + end, [&](int64_t t, const TaskRow& row) {
                 const auto i = static_cast<size_t>(t - first);
                 if (piece > 0) {
                   copy_stream(m.file_of(row), row, file, layout.starts[i], shared, {piece, &packed.sums[i]});
                 } else {
                   copier.add_stream(m.file_of(row), row, layout.starts[i]);
                 }
               });
               copier.finish();
             });
}

// Writes and closes the file that `packed` describes, with tasks from `first` on.
void make_file(const Multifile& m, int64_t first, const DefragRequest& request, PackedFile& packed,
               const std::shared_ptr<File>& file, WorkProgress& progress) {
  MetadataWriter(*file, packed.header).write_header(packed.extension);
  for_each_row(m, first, first + packed.header.ntasks,
               [&](int64_t, const TaskRow& row) { packed.globalranks.push_back(row.globalrank); });
  if (request.compression.on())
    compress_streams(m, first, request.compression, file, packed, progress);
  else
    copy_streams(m, first, *file, packed, progress);
  complete_packed_file(*file, packed);
  if (request.replace || request.nfiles > 1)
    file->sync();  // the output may replace the input, of which no other copy may exist
  file->close();
}

// Writes several files, each with a part of the tasks. Calls check() before they appear as one generation.
void make_set(Store& store, const Multifile& m, const DefragRequest& request, const PackedFile& lead,
              const std::function<void()>& check, WorkProgress& progress) {
  const auto ntasks = static_cast<int32_t>(m.ntasks());
  std::vector<layout::Placement> mapping;
  for (int32_t t = 0; t < ntasks; ++t) mapping.push_back(layout::place_blockwise(t, ntasks, request.nfiles));
  NewSet files(store, request.output, m.files.front().path());
  for (int32_t k = 0, first = 0; k < request.nfiles; ++k) {
    int32_t end = first;
    while (end < ntasks && mapping[static_cast<size_t>(end)].file == k) ++end;
    PackedFile packed = lead;
    packed.header.filenumber = k;
    packed.header.ntasks = end - first;
    if (k == 0) packed.mapping = mapping;
    if (k > 0) packed.extension->guessed_ends = 0;  // the first file has the total
    const auto file = files.add();
    progress.begin_output(first, format::physical_name(request.output, k));
    make_file(m, first, request, packed, file, progress);
    first = end;
  }
  check();
  files.commit(lead.extension->identity);
}

}  // namespace

void defrag(Store& store, const Multifile& given, const DefragRequest& request, WorkProgress& progress) {
  const std::optional<Multifile> plain = (request.plain || request.compression.on()) && given.compressed()
                                             ? std::optional(plain_view(given))
                                             : std::nullopt;
  const Multifile& m = plain ? *plain : given;
  const format::Header header = header_of_result(m, request);
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused);
  const auto check_names = [&] {
    for (int32_t k = 0; k < request.nfiles; ++k) outputs.check(format::physical_name(request.output, k));
  };
  check_names();
  outputs.own(request.output);
  progress.begin(m.data_bytes());
  check_keyval_records(m, progress);
  PackedFile packed{.header = header, .extension = extension_of_result(m, header, request.compression)};
  std::vector<format::TaskName> names = read_task_names(given).names;
  if (request.nfiles > 1) {
    if (!names.empty())
      throw file_error(Code::unsupported, m.path,
                       "names its tasks, which only a multifile of one physical file can do");
    return make_set(
        store, m, request, packed,
        [&] {
          require_unchanged(given);
          check_names();
        },
        progress);
  }
  const auto file = outputs.add(request.output, m.files.front().path());
  progress.begin_output(0, request.output);
  if (packed.piece() > 0) packed.more = sections_of({.names = std::move(names)});
  make_file(m, 0, request, packed, file, progress);
  require_unchanged(given);
  outputs.commit();
}

}  // namespace sheaf::multifile

// Lays out the files in a mapped open for writing. Metadata writers receive the tasks, place the chunks and
// write META1.
#include <algorithm>
#include <ranges>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "multifile/create/file_table.hpp"
#include "multifile/create/new_file.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::multifile {

namespace {

struct MappingRow {
  int64_t row;  // task number
  layout::Placement place;
};

struct BlockSizeOfFile {
  int64_t row;  // row of local rank 0
  int64_t fsblksize;
};

// Places the chunks of the `rows` of a segment, and appends the results to `places`.
void place_segment(Segment& segment, const FileSums& sums, std::span<const RequestedRow> rows,
                   std::vector<PlacedRow>& places) {
  segment.skip = sums.sum;
  const int64_t begin = layout::data_start(segment.file_tasks, segment.fsblksize);
  must_fit(checked_add(begin, sums.sum), "the sum of the chunk sizes");
  int64_t start = begin + sums.before;
  for (const RequestedRow& row : rows) {
    places.push_back({{start, segment.skip, row.chunk_size}, segment.fsblksize});
    start = saturated_add(start, row.chunk_size);  // an overflow has already been reported
  }
}

}  // namespace

// Assigns the tasks of the only process to files. The process counts as one host that writes its tasks in
// turn. The per-host policies and `automatic` therefore give it one file.
std::vector<layout::Placement> Writer::place_alone(int32_t nfiles, const OpenMode& mode) {
  std::vector<layout::Placement> places(static_cast<size_t>(ntasks_));
  const bool are_numbers = std::ranges::equal(placed_->globalranks, std::views::iota(int64_t{0}, ntasks_));
  if (mode.file_policy == FilePolicy::table) {
    const std::vector<int32_t> files = read_whole_file_table(*store_, mode.table, ntasks_);
    facts_.nfiles = files.empty() ? 1 : std::ranges::max(files) + 1;
    if (facts_.nfiles > 1 && !are_numbers)
      throw Error(Code::invalid_argument,
                  "'" + path_ + "': files=@TABLE needs the global ranks 0 to " + std::to_string(ntasks_ - 1) +
                      ", in this order: they tell which task is which if the multifile is never closed");
    std::vector<int32_t> tasks_of(static_cast<size_t>(facts_.nfiles));
    for (size_t t = 0; t < places.size(); ++t)
      places[t] = {files[t], tasks_of[static_cast<size_t>(files[t])]++};
    return places;
  }
  facts_.nfiles = mode.file_policy == FilePolicy::fixed    ? mode.files
                  : mode.file_policy == FilePolicy::caller ? nfiles
                                                           : 1;
  if (facts_.nfiles > 1) require_tasks_for_files();
  placed_->in_order = facts_.nfiles > 1 && !are_numbers;
  for (size_t t = 0; t < places.size(); ++t)
    places[t] =
        layout::place_blockwise(static_cast<int32_t>(t), static_cast<int32_t>(ntasks_), facts_.nfiles);
  return places;
}

void Writer::require_tasks_for_files() const {
  if (facts_.nfiles > ntasks_)
    throw Error(Code::invalid_argument, "'" + path_ + "': " + std::to_string(facts_.nfiles) +
                                            " physical files for " + std::to_string(ntasks_) + " tasks");
}

// Counts the tasks of each file and sends every row to its metadata writer. Collective. Throws for invalid
// places before any file is changed.
Gathered Writer::collect_rows(const MappedWriteRequest& request, std::vector<RequestedRow>& rows) {
  std::vector<FileShare> own;
  for (const OwnFile& f : mine_.files) own.push_back({f.number, f.local_tasks});
  std::optional<Error> problem;
  mine_.find_rows(
      *comm_, facts_.nfiles, own, *placed_->rows, placed_->segments, [&](int32_t file, int64_t tasks) {
        if (tasks == 0 && !alone_ && !problem)
          problem = Error(Code::invalid_argument, "'" + path_ + "': file " + std::to_string(file) + " of " +
                                                      std::to_string(facts_.nfiles) +
                                                      " has no task, not even local rank 0");
      });
  if (ntasks_ == 0 && alone_) placed_->segments.emplace_back();
  for (const OwnTask& t : mine_.tasks)
    if (t.place.local_rank >= t.file_tasks && !problem)
      problem = Error(Code::invalid_argument,
                      "'" + path_ + "': the " + std::to_string(t.file_tasks) + " tasks of file " +
                          std::to_string(t.place.file) + " need the local ranks 0 to " +
                          std::to_string(t.file_tasks - 1) + " without gaps; task " + std::to_string(t.task) +
                          " has " + std::to_string(t.place.local_rank));
  agree(*comm_, problem);
  std::vector<RequestedRow> wanted;
  for (const size_t i : mine_.by_row)
    wanted.push_back({mine_.tasks[i].row, request.tasks[i].globalrank, request.tasks[i].chunk_size});
  Gathered collected = placed_->rows->collect(std::span<const RequestedRow>(wanted));
  agree(*comm_, attempt([&] {
    // There are as many requests as rows. It therefore suffices to check that no row is requested twice.
    rows.assign(static_cast<size_t>(placed_->rows->count()), {.row = -1, .globalrank = -1, .chunk_size = 0});
    for (const RequestedRow& asked : records_of<RequestedRow>(collected)) {
      RequestedRow& place = rows[static_cast<size_t>(asked.row - placed_->rows->first())];
      if (place.row >= 0)
        throw Error(Code::invalid_argument, "'" + path_ + "': the place of task " +
                                                std::to_string(asked.globalrank) +
                                                " (file and local rank) is given to another task as well");
      place = asked;
    }
  }));
  return collected;
}

void Writer::collect_mapping() {
  placed_->numbers =
      std::make_unique<MetadataPartition>(*comm_, ntasks_, unit_ > 0 ? Slicing::whole : Slicing::groups);
  placed_->mapping_entries = ntasks_;
  std::vector<MappingRow> rows;
  for (const size_t i : mine_.by_number) rows.push_back({mine_.tasks[i].task, mine_.tasks[i].place});
  const Gathered collected = placed_->numbers->collect(std::span<const MappingRow>(rows));
  agree(*comm_, attempt([&] {
    placed_->mapping.assign(static_cast<size_t>(placed_->numbers->count()), {-1, -1});
    for (const MappingRow& r : records_of<MappingRow>(collected)) {
      layout::Placement& entry = placed_->mapping[static_cast<size_t>(r.row - placed_->numbers->first())];
      if (entry.file >= 0)
        throw Error(Code::invalid_argument,
                    "'" + path_ + "': two tasks have the global rank " + std::to_string(r.row));
      entry = r.place;
    }
  }));
}

// Lets the metadata writers round up the chunk sizes in `rows`, place the chunks and answer every process.
// Collective.
void Writer::lay_out(const Gathered& collected, std::vector<RequestedRow>& rows) {
  MetadataPartition& slices = *placed_->rows;
  std::vector<Segment>& segments = placed_->segments;
  std::vector<BlockSizeOfFile> sizes_of_blocks;
  for (const size_t i : mine_.by_row)
    if (mine_.tasks[i].place.local_rank == 0)
      sizes_of_blocks.push_back({mine_.tasks[i].row, mine_.files[mine_.tasks[i].file].fsblksize});
  auto found = records_of<BlockSizeOfFile>(slices.collect(std::span<const BlockSizeOfFile>(sizes_of_blocks)));
  std::ranges::sort(found, {}, &BlockSizeOfFile::row);
  size_t next = 0;  // index in `found` of the next file, in row order
  std::vector<SegmentSums> values;
  for (const Segment& s : segments)
    values.push_back({0, s.first != 0   ? 0
                         : ntasks_ == 0 ? mine_.files[0].fsblksize
                                        : found[next++].fsblksize});
  const std::vector<FileSums> block_sizes = slices.add_up(segments, values);
  for (size_t s = 0; s < segments.size(); ++s)
    segments[s].fsblksize = static_cast<int32_t>(block_sizes[s].largest);

  auto problem = attempt([&] {
    for (size_t s = 0; s < segments.size(); ++s) {
      values[s] = {};
      for (RequestedRow& r : segments[s].of(std::span(rows))) {
        if (!keeps_sizes_) r.chunk_size = layout::aligned_chunk(r.chunk_size, segments[s].fsblksize);
        values[s].sum = must_fit(checked_add(values[s].sum, r.chunk_size), "the sum of the chunk sizes");
      }
    }
  });
  const std::vector<FileSums> sums = slices.add_up(segments, values);
  const auto places = slices.answer<PlacedRow, RequestedRow>(
      collected, mine_.tasks.size(), problem, [&](const std::vector<RequestedRow>& requests) {
        std::vector<PlacedRow> of_rows;
        for (size_t s = 0; s < segments.size(); ++s)
          place_segment(segments[s], sums[s], segments[s].of(rows), of_rows);
        std::vector<PlacedRow> answers;
        for (const RequestedRow& r : requests)
          answers.push_back(of_rows[static_cast<size_t>(r.row - slices.first())]);
        return answers;
      });
  const auto unknown = attempt([&] {
    for (size_t k = 0; k < mine_.by_row.size(); ++k) {
      OwnTask& t = mine_.tasks[mine_.by_row[k]];
      t.geometry = places[k].geometry;
      mine_.files[t.file].fsblksize = static_cast<int32_t>(places[k].fsblksize);
    }
    for (OwnFile& file : mine_.files)
      know_journal(file, header_of(file.number, file.file_tasks, file.fsblksize), placed_->extension);
  });
  agree(*comm_, problem ? problem : unknown);
}

format::Header Writer::header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const {
  using format::KeyvalMode;
  return {{.userdata_order = facts_.userdata_order,
           .fsblksize = fsblksize,
           .ntasks = static_cast<int32_t>(file_tasks),
           .nfiles = facts_.nfiles,
           // Serial writers of the format have always stored 1 for a single file.
           .filenumber = alone_ && facts_.nfiles == 1 ? 1 : file,
           .flag1 = format::Header::flag_of(facts_.keyval ? KeyvalMode::inline_ : KeyvalMode::none)}};
}

void Writer::know_journal(OwnFile& file, const format::Header& header,
                          const std::optional<format::Extension>& extension) {
  file.key = JournalKey::of(header, extension);
  file.key.hosts = hosts_;
  file.key.own_caches = own_caches_;
  // With a shared granularity, only the metadata writer may write META1, so it sets the mark when it writes
  // META1. Otherwise the task with local rank 0 sets the mark later.
  file.key.first = unit_ == 0 && std::ranges::any_of(mine_.tasks, [&](const OwnTask& t) {
                     return t.place.local_rank == 0 && mine_.files[t.file].number == file.number;
                   });
}

// Writes a metadata writer's part of META1, including the mark, so that each page has one writer. Local.
void Writer::write_metadata(std::span<const Segment> segments, const std::vector<RequestedRow>& rows,
                            std::string_view stored_name, const std::optional<format::Extension>& extension) {
  for (const Segment& s : segments) {
    std::vector<int64_t> ranks;
    std::vector<int64_t> sizes;
    for (const RequestedRow& r : s.of(rows)) {
      ranks.push_back(r.globalrank);
      sizes.push_back(r.chunk_size);
    }
    const auto write = [&](File& file, format::Header h) {
      if (s.first == 0) h.set_name(stored_name);
      MetadataWriter writer(file, h);
      if (s.first == 0) writer.write_header(extension);
      if (s.first == 0 && !grouped_ && unit_ > 0 && stream_.target().keeps_journal())
        mark_unclosed(file, h, extension);
      writer.write_ranks_and_sizes(s.first, ranks, sizes);
    };
    // Committed bytes of one file are readable only if all files of the set are readable, so META1 must be
    // visible to all hosts.
    change_file(s, write,
                stream_.target().keeps_journal() && own_caches_ ? Outlives::host : Outlives::process);
  }
}

}  // namespace sheaf::multifile

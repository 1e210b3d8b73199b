// Creates a multifile with tasks placed by the caller.
#include "multifile/writer/placed_open.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/checked.hpp"
#include "comm/reduce.hpp"
#include "exchange/transfer/throttle.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/writer/host_separation.hpp"
#include "multifile/writer/open_to_write.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

struct PlacedTasks {
  int64_t tasks = 0;
  std::array<int64_t, 2> identity{};  // from process 0
  constexpr void combine(auto& by) { by.sum(tasks).sum(identity); }
};

// Counts the tasks of all processes, and sets the extension of the files, with an identity from process 0.
// Collective.
void count_tasks(OpenedSet& set, int64_t own_tasks, bool has_extension, const OpenMode& mode) {
  std::optional<format::Extension>& extension = set.placed->extension;
  if (has_extension) extension = mode.extension();
  if (extension && set.facts.nfiles > 1 && set.placed->globalranks && !set.placed->ranks_are_task_numbers())
    extension->flags |= format::flag_in_order;
  PlacedTasks placed{own_tasks};
  if (extension && set.comm->rank() == 0)
    placed.identity = std::bit_cast<decltype(placed.identity)>(extension->identity);
  reduce(*set.comm, placed);
  if (extension) extension->identity = std::bit_cast<format::Identity>(placed.identity);
  set.ntasks = placed.tasks;
}

void check_tasks(const OpenedSet& set, const MappedWriteRequest& request) {
  const bool is_alone = set.placed->globalranks.has_value();
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, "'" + set.path + "': " + why);
  };
  if (request.nfiles <= 0)
    refuse("mapped writing needs the number of physical files, not " + std::to_string(request.nfiles));
  if (set.ntasks > INT32_MAX) refuse("more than 2^31-1 tasks");
  for (const MappedWriteTask& t : request.tasks) {
    const std::string task = "task " + std::to_string(is_alone ? &t - request.tasks.data() : t.globalrank);
    if (!is_alone && (t.globalrank < 0 || t.globalrank >= set.ntasks))
      refuse(task + ": the global ranks of " + std::to_string(set.ntasks) + " tasks must be 0 to " +
             std::to_string(set.ntasks - 1));
    if (t.place.file < 0 || t.place.file >= request.nfiles)
      refuse(task + ": there is no file " + std::to_string(t.place.file) + " of " +
             std::to_string(request.nfiles));
    if (t.place.local_rank < 0) refuse(task + ": local rank " + std::to_string(t.place.local_rank));
    if (t.chunk_size < 0)
      refuse("chunk size " + std::to_string(t.chunk_size) + " of " + task + " is negative");
  }
  format::physical_name(set.path, request.nfiles - 1);
}

// Sets the tasks and files of this process. Local.
void number_tasks(OpenedSet& set, std::span<const MappedWriteTask> tasks) {
  const bool is_alone = set.placed->globalranks.has_value();
  set.tasks.reserve(tasks.size());
  for (const MappedWriteTask& t : tasks)
    set.tasks.push_back({is_alone ? std::ssize(set.tasks) : t.globalrank, t.place, 0, 0, 0, {}});
  set.index();
  set.terms.unused = is_alone ? 0 : -1;  // serial writers of the format store 0, mapped ones -1
  set.terms.mapping_entries = 0;         // a single file of one process has a mapping without entries
  if (!is_alone) return;
  if (set.files.empty()) set.files.emplace_back();
  set.terms.kept_files = static_cast<int32_t>(set.files.size());
}

// Creates the files in which this process has the task with local rank 0. Collective. Returns their indices
// in LocalTasks::files.
std::vector<size_t> create_files(OpenedSet& set, const MappedWriteRequest& request, OldFile old) {
  std::vector<size_t> begun;
  for (const OwnTask& t : set.tasks)
    if (t.place.local_rank == 0) begun.push_back(t.file);
  if (set.tasks.empty() && !set.files.empty()) begun.push_back(0);
  agree(*set.comm, attempt([&] {
    for (const size_t f : begun) {
      OwnFile& own = set.files[f];
      own.file = create_in_set(set, own.number, request.stored_name, old).file;
      own.fsblksize = choose_block_size(*own.file, request.fsblksize);
    }
  }));
  return begun;
}

// Discards what the files held before this open. Local.
void empty_files(OpenedSet& set, std::span<const size_t> files) {
  for (const size_t f : files) {
    File& file = *set.files[f].file;
    drop_set_aside(set);
    empty(set.store(), file);
    if (set.hosts.count > 1 || !set.made ||
        std::ranges::find(set.made->created, file.path()) == set.made->created.end())
      remove_leftovers(set.store(), file.path());
  }
}

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

// Numbers the rows of the tasks. Collective. Throws if a file has no task, or if its local ranks have gaps.
void find_rows_of_tasks(OpenedSet& set) {
  const bool is_alone = set.placed->globalranks.has_value();
  std::vector<FileShare> own;
  for (const OwnFile& f : set.files) own.push_back({f.number, f.local_tasks});
  std::optional<Error> problem;
  set.find_rows(*set.comm, set.facts.nfiles, own, *set.placed->rows, set.placed->segments,
                [&](int32_t file, int64_t tasks) {
                  if (tasks == 0 && !is_alone && !problem)
                    problem =
                        Error(Code::invalid_argument, "'" + set.path + "': file " + std::to_string(file) +
                                                          " of " + std::to_string(set.facts.nfiles) +
                                                          " has no task, not even local rank 0");
                });
  if (set.ntasks == 0 && is_alone) set.placed->segments.emplace_back();
  for (const OwnTask& t : set.tasks)
    if (t.place.local_rank >= t.file_tasks && !problem)
      problem = Error(Code::invalid_argument,
                      "'" + set.path + "': the " + std::to_string(t.file_tasks) + " tasks of file " +
                          std::to_string(t.place.file) + " need the local ranks 0 to " +
                          std::to_string(t.file_tasks - 1) + " without gaps; task " + std::to_string(t.task) +
                          " has " + std::to_string(t.place.local_rank));
  agree(*set.comm, problem);
}

// Sets the block sizes of the segments, which the processes with local rank 0 know. Collective.
void find_block_sizes(OpenedSet& set) {
  MetadataPartition& slices = *set.placed->rows;
  std::vector<Segment>& segments = set.placed->segments;
  std::vector<BlockSizeOfFile> own;
  for (const size_t i : set.by_row)
    if (set.tasks[i].place.local_rank == 0)
      own.push_back({set.tasks[i].row, set.files[set.tasks[i].file].fsblksize});
  auto found = records_of<BlockSizeOfFile>(slices.collect(std::span<const BlockSizeOfFile>(own)));
  std::ranges::sort(found, {}, &BlockSizeOfFile::row);
  size_t next = 0;  // index in `found` of the next file, in row order
  std::vector<SegmentSums> values;
  for (const Segment& s : segments)
    values.push_back({0, s.first != 0      ? 0
                         : set.ntasks == 0 ? set.files[0].fsblksize
                                           : found[next++].fsblksize});
  const std::vector<FileSums> block_sizes = slices.add_up(segments, values);
  for (size_t s = 0; s < segments.size(); ++s)
    segments[s].fsblksize = static_cast<int32_t>(block_sizes[s].largest);
}

// The requests for chunks at their metadata writer.
struct CollectedRows {
  Gathered requests;               // RequestedRow of all processes
  std::vector<RequestedRow> rows;  // of this process's slice, by row
};

// Counts the tasks of each file and sends every row to its metadata writer. Collective. Throws for invalid
// places before any file is changed.
CollectedRows collect_rows(OpenedSet& set, const MappedWriteRequest& request) {
  find_rows_of_tasks(set);
  std::vector<RequestedRow> wanted;
  wanted.reserve(set.tasks.size());
  for (const size_t i : set.by_row)
    wanted.push_back({set.tasks[i].row, request.tasks[i].globalrank, request.tasks[i].chunk_size});
  MetadataPartition& slices = *set.placed->rows;
  CollectedRows collected{slices.collect(std::span<const RequestedRow>(wanted)), {}};
  agree(*set.comm, attempt([&] {
    // There are as many requests as rows. It therefore suffices to check that no row is requested twice.
    collected.rows.assign(static_cast<size_t>(slices.count()),
                          {.row = -1, .globalrank = -1, .chunk_size = 0});
    for (const RequestedRow& asked : records_of<RequestedRow>(collected.requests)) {
      RequestedRow& place = collected.rows[static_cast<size_t>(asked.row - slices.first())];
      if (place.row >= 0)
        throw Error(Code::invalid_argument, "'" + set.path + "': the place of task " +
                                                std::to_string(asked.globalrank) +
                                                " (file and local rank) is given to another task as well");
      place = asked;
    }
  }));
  return collected;
}

// Sends the places of the tasks to the metadata writers that write the mapping. Collective. Throws if a
// global rank is given twice.
void collect_mapping(OpenedSet& set) {
  PlacedTables& tables = *set.placed;
  tables.numbers = partition_mapping(set);
  set.terms.mapping_entries = static_cast<int32_t>(set.ntasks);
  std::vector<MappingRow> rows;
  for (const size_t i : set.by_number) rows.push_back({set.tasks[i].task, set.tasks[i].place});
  const Gathered collected = tables.numbers->collect(std::span<const MappingRow>(rows));
  agree(*set.comm, attempt([&] {
    tables.mapping.assign(static_cast<size_t>(tables.numbers->count()), {-1, -1});
    for (const MappingRow& r : records_of<MappingRow>(collected)) {
      layout::Placement& entry = tables.mapping[static_cast<size_t>(r.row - tables.numbers->first())];
      if (entry.file >= 0)
        throw Error(Code::invalid_argument,
                    "'" + set.path + "': two tasks have the global rank " + std::to_string(r.row));
      entry = r.place;
    }
  }));
}

// Lets the metadata writers round up the chunk sizes in `collected`, unless `keep_sizes` is set, place the
// chunks and answer every process. Collective.
void place_chunks(OpenedSet& set, CollectedRows& collected, bool keep_sizes) {
  find_block_sizes(set);
  MetadataPartition& slices = *set.placed->rows;
  std::vector<Segment>& segments = set.placed->segments;
  std::vector<SegmentSums> chunks(segments.size());
  auto problem = attempt([&] {
    for (size_t s = 0; s < segments.size(); ++s)
      for (RequestedRow& r : segments[s].of(std::span(collected.rows))) {
        if (!keep_sizes) r.chunk_size = layout::aligned_chunk(r.chunk_size, segments[s].fsblksize);
        chunks[s].sum = must_fit(checked_add(chunks[s].sum, r.chunk_size), "the sum of the chunk sizes");
      }
  });
  const std::vector<FileSums> sums = slices.add_up(segments, chunks);
  const auto places = slices.answer<PlacedRow, RequestedRow>(
      collected.requests, set.tasks.size(), problem, [&](const std::vector<RequestedRow>& requests) {
        std::vector<PlacedRow> of_rows;
        of_rows.reserve(collected.rows.size());
        for (size_t s = 0; s < segments.size(); ++s)
          place_segment(segments[s], sums[s], segments[s].of(collected.rows), of_rows);
        std::vector<PlacedRow> answers;
        answers.reserve(requests.size());
        for (const RequestedRow& r : requests)
          answers.push_back(of_rows[static_cast<size_t>(r.row - slices.first())]);
        return answers;
      });
  attempt(problem, [&] {
    for (size_t k = 0; k < set.by_row.size(); ++k) {
      OwnTask& t = set.tasks[set.by_row[k]];
      t.geometry = places[k].geometry;
      set.files[t.file].fsblksize = static_cast<int32_t>(places[k].fsblksize);
    }
    for (OwnFile& file : set.files)
      know_journal(set, file, header_of(set, file.number, file.file_tasks, file.fsblksize),
                   set.placed->extension);
  });
  agree(*set.comm, problem);
}

}  // namespace

void open_own_files(OpenedSet& set, const std::shared_ptr<WriteSlots>& slots,
                    const std::function<void(OwnFile&)>& wrap) {
  agree(*set.comm, attempt([&] {
    for (OwnFile& f : set.files) {
      if (!f.file) f.file = open_with_retries(set.store(), set.name_of(f.number), Access::write);
      f.boundary_blocks = boundary_blocks_of(set, f.number);
      wrap(f);
      f.file = throttled(std::move(f.file), slots);
    }
    // A process without files has a stream, too, which represents file 0.
    if (set.files.empty()) set.stream->bind(open_with_retries(set.store(), set.path, Access::write), 0);
  }));
}

void open_placed(OpenedSet& set, const MappedWriteRequest& request, const OpenMode& mode) {
  PlacedTables& tables = *set.placed;
  const std::string& stored_name = request.stored_name.empty() ? set.path : request.stored_name;
  set.facts.nfiles = request.nfiles;
  count_tasks(set, std::ssize(request.tasks), set.facts.compressed || format::extensible(stored_name), mode);
  agree(*set.comm, attempt([&] {
    check_tasks(set, request);
    if (mode.atomic) require_committable(stored_name, request.nfiles);
    codec::require(mode.compression.codec, set.path);
  }));

  find_hosts_of_set(set);
  number_tasks(set, request.tasks);
  tables.rows = std::make_unique<MetadataPartition>(*set.comm, set.ntasks, slicing_of(set.hosts));
  CollectedRows collected = collect_rows(set, request);
  if (!tables.globalranks || request.nfiles > 1) collect_mapping(set);
  const auto slots = exchange::share_slots(*set.comm, set.store(), mode.io_tasks);
  try {
    const auto begun = create_files(set, request, mode.replaces ? OldFile::set_aside : OldFile::kept);
    open_own_files(set, slots,
                   [](OwnFile& f) { f.file = boundary_file(std::move(f.file), f.boundary_blocks); });
    place_chunks(set, collected, request.keep_sizes);
    keep_hosts_apart(set);
    agree(*set.comm, attempt([&] { empty_files(set, begun); }));
    agree(*set.comm, attempt([&] {
      write_metadata(set, tables.segments, collected.rows, stored_name, tables.extension);
    }));
  } catch (...) {
    undo_open(set);
    throw;
  }
  set.blocks.resize(set.tasks.size());
  for (TaskBlocks& blocks : set.blocks) blocks.piece = tables.extension ? tables.extension->piece : 0;
  if (set.facts.compressed) compress(set, mode.compression, tasks_per_node(*set.comm));
  set.bind_first();
}

OpenedSet open_mapped(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request,
                      const OpenMode& mode) {
  OpenedSet set = begin_set(store, std::move(comm), request.path, request.name_of, mode);
  set.placed = std::make_unique<PlacedTables>();
  open_placed(set, request, mode);
  return set;
}

}  // namespace sheaf::multifile

// Separates the bytes of different hosts in a multifile written by processes with several tasks each
// (layout/regions, multifile/metadata/boundary_blocks).
#include <algorithm>

#include "comm/reduce.hpp"
#include "layout/regions.hpp"
#include "multifile/collective/merge_boundary_blocks.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// A chunk of the first round, with the host that writes it.
struct HostedRow {
  int64_t row = 0;
  int64_t host = 0;
  int64_t begin = 0;  // absolute offset
  int64_t end = 0;
};

// Answer of a metadata writer for one row.
struct RunOfRow {
  int64_t begin = 0;  // extent of the consecutive chunks of the host that contain the row
  int64_t end = 0;
  int64_t unit = 0;  // shared granularity of the file; 0: no boundary blocks
};

// Finds the run of each row of one file. `rows` are in order. A row without a host (< 0) is never written.
void find_runs(std::span<const HostedRow> rows, const Segment& file, int64_t unit, std::span<RunOfRow> runs) {
  int64_t smallest = INT64_MAX;
  for (size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end].host == rows[first].host) ++end;
    const RunOfRow run{rows[first].begin, rows[end - 1].end, 0};
    std::ranges::fill(runs.subspan(first, end - first), run);
    if (rows[first].host >= 0) smallest = std::min(smallest, run.end - run.begin);
  }
  if (unit > layout::largest_unit && smallest < unit) unit = layout::largest_page;
  if (file.fsblksize % unit == 0) return;  // all chunks are aligned
  for (RunOfRow& run : runs) run.unit = unit;
}

}  // namespace

// Returns what the hosts must keep apart on a file system with these traits. Local. One task calls it and
// broadcasts the result.
Writer::Apart Writer::apart_by(const FileSystemTraits& traits) {
  if (traits.coherence == Coherence::local) return {};
  return {traits.unit > 1 ? traits.unit : 0, 1, static_cast<int64_t>(traits.kind),
          !lays_out_files(traits.kind)};
}

// Returns the properties of the directory of the multifile, which process 0 queries and broadcasts.
// Collective.
Writer::Apart Writer::find_apart() {
  Apart found;
  if (comm_->rank() == 0)
    attempt([&] {
      found = apart_by(store_->traits(path_));
      if (store_->target_of(path_) != path_)
        found.everywhere = 0;  // the other files are not in the directory of the link's target
    });                        // a missing directory is reported when the files are created
  comm_->broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
  return found;
}

// Determines the hosts of the tasks, and the shared granularity that they must respect. Collective.
void Writer::find_unit() {
  hosts_ = find_hosts(*comm_, *comm_);
  if (hosts_.count == 1) return;
  const Apart found = find_apart();
  unit_ = found.unit;
  own_caches_ = found.own_caches != 0;
}

std::shared_ptr<BoundaryBlocks> Writer::boundary_blocks_of(int32_t file) const {
  return unit_ > 0
             ? std::make_shared<BoundaryBlocks>(*store_, name_of(file), stream_.target().keeps_journal())
             : nullptr;
}

// Sets up the boundary blocks after all chunks are placed. Collective.
void Writer::keep_hosts_apart() {
  if (unit_ == 0) return;
  std::vector<HostedRow> mine;
  for (const size_t i : mine_.by_row) {
    const OwnTask& t = mine_.tasks[i];
    mine.push_back({t.row, hosts_.mine, t.geometry.start, t.geometry.start + t.geometry.size});
  }
  std::optional<Error> problem;
  const auto runs_of_rows = placed_->rows->ask<RunOfRow>(
      std::span<const HostedRow>(mine), problem, [&](const std::vector<HostedRow>& asked) {
        const int64_t first = placed_->rows->first();
        std::vector<HostedRow> rows(static_cast<size_t>(placed_->rows->count()), {.host = -1});
        for (const HostedRow& r : asked) rows[static_cast<size_t>(r.row - first)] = r;
        std::vector<RunOfRow> runs(rows.size()), answers;
        for (const Segment& s : placed_->segments) find_runs(s.of(rows), s, unit_, s.of(std::span(runs)));
        for (const HostedRow& r : asked) answers.push_back(runs[static_cast<size_t>(r.row - first)]);
        return answers;
      });
  agree(*comm_, problem);

  std::vector<std::vector<BoundaryBlocks::BoundaryRow>> rows(mine_.files.size());
  std::vector<int64_t> units(mine_.files.size());
  for (size_t k = 0; k < mine_.by_row.size(); ++k) {
    const RunOfRow& run = runs_of_rows[k];
    const OwnTask& t = mine_.tasks[mine_.by_row[k]];
    BoundaryBlocks::BoundaryRow row{t.place.local_rank, {run.begin, run.end, 0}};
    // When appending, the boundary blocks of a task begin where its stream continues, which may be in another
    // round than for its neighbours.
    if (placed_->old)
      row = {
          t.place.local_rank,
          {t.geometry.start, t.geometry.start + t.geometry.size, placed_->ends_before[mine_.by_row[k]].block},
          placed_->ends_before[mine_.by_row[k]].offset};
    rows[t.file].push_back(row);
    units[t.file] = run.unit;
  }
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    const OwnFile& file = mine_.files[f];
    const auto first = std::ranges::find(mine_.tasks, f, &OwnTask::file);
    file.boundary_blocks->set(file.key, units[f], layout::data_start(file.file_tasks, file.fsblksize),
                              first->geometry.skip, std::move(rows[f]));
  }
}

// Marks a new file as unclosed, and creates its journal with a first record, because a journal without
// records counts as lost. If the journal cannot be created, the tasks detect that themselves. Local. The
// metadata writer calls it.
void Writer::mark_unclosed(File& file, const format::Header& header,
                           const std::optional<format::Extension>& extension) {
  JournalKey key = JournalKey::of(header, extension);
  key.hosts = hosts_;
  if (!key.has_identity()) return;
  const int64_t blocks = 1;
  const auto unmade = attempt([&] {
    record_blocks(file, key, 0, std::span(&blocks, 1), [](size_t, int64_t) { return int64_t{0}; });
  });
  if (!unmade) file.write_at(format::journal_mark, key.pointer_offset());
}

// Records blocks in a journal that no other task has written to (JournalWriter::report_all). Local.
void Writer::record_blocks(File& file, const JournalKey& key, int64_t first, std::span<const int64_t> counts,
                           const std::function<int64_t(size_t, int64_t)>& size_of) {
  JournalWriter journal(*store_, key, facts_.durable ? Journaling::durable : Journaling::required);
  journal.report_all(file, first, counts, size_of);
  if (facts_.durable) journal.sync(file);
  journal.close();
}

namespace {

// Values of one file that all its processes need to merge boundary blocks.
struct FileBoundaryBlocks {
  bool has_boundary_blocks = false, failed = false;
  int64_t unit = 0, data_start = 0, end = 0, metadata_writer = 0;
  constexpr void combine(auto& by) {
    by.any(has_boundary_blocks).any(failed).max(unit).max(data_start).max(end).max(metadata_writer);
  }
};

}  // namespace

// Merges the boundary blocks into the files after all bytes were written, except in files with a failed task.
// Collective. Returns the error of this process, if any.
std::optional<Error> Writer::merge_own_boundary_blocks(std::span<const EndedSegment> segments) {
  constexpr int32_t files_at_once = 64;
  Comm& comm = tasks_of_files();
  const int32_t last = grouped_ ? facts_.filenumber + 1 : facts_.nfiles;
  std::optional<Error> problem;
  for (int32_t first = grouped_ ? facts_.filenumber : 0; first < last; first += files_at_once) {
    const int32_t end = std::min(first + files_at_once, last);
    std::vector<FileBoundaryBlocks> files(static_cast<size_t>(end - first));
    std::vector<std::vector<Extent>> extents(files.size());
    const auto is_here = [&](int32_t file) { return file >= first && file < end; };
    for (const EndedSegment& s : segments)
      if (is_here(s.file)) {
        FileBoundaryBlocks& f = files[static_cast<size_t>(s.file - first)];
        f.end = s.pointer.varheader;
        f.failed = !s.sound;
        f.metadata_writer = comm.rank();
      }
    for (size_t i = 0; i < mine_.tasks.size(); ++i) {
      const OwnTask& t = mine_.tasks[i];
      if (!is_here(t.place.file) || !mine_.files[t.file].boundary_blocks->in_use()) continue;
      const auto k = static_cast<size_t>(t.place.file - first);
      const StreamPosition before = old() ? placed_->ends_before[i] : StreamPosition{};
      for (int64_t b = before.block; b < blocks_[i].count(); ++b) {
        const int64_t from = b == before.block ? before.offset : 0;
        add_boundary_blocks(mine_.files[t.file].boundary_blocks->map(), t.geometry.offset(b) + from,
                            blocks_[i].size_of(b) - from, extents[k]);
      }
      files[k].has_boundary_blocks |= !extents[k].empty();
      files[k].unit = mine_.files[t.file].boundary_blocks->unit();
      files[k].data_start = layout::data_start(t.file_tasks, mine_.files[t.file].fsblksize);
    }
    reduce_each(comm, std::span(files));
    for (size_t k = 0; k < files.size(); ++k) {
      if (!files[k].has_boundary_blocks || files[k].failed) continue;
      const int32_t number = first + static_cast<int32_t>(k);
      const std::string name = name_of(number);
      std::ranges::sort(extents[k], {}, &Extent::offset);
      const auto own = std::ranges::find(mine_.files, number, &OwnFile::number);
      std::shared_ptr<File> target;
      const auto open = [&]() -> File& {
        if (!target) target = open_with_retries(*store_, name, Access::write);
        return *target;
      };
      const BoundaryMergeTarget where{files[k].unit, files[k].data_start, files[k].end, hosts_.count,
                                      static_cast<int>(files[k].metadata_writer)};
      const auto lost =
          merge_boundary_blocks(comm, name, open, where,
                                own == mine_.files.end() ? nullptr : own->boundary_blocks.get(), extents[k]);
      if (!problem) problem = lost;
      attempt(problem, [&] {
        if (!target) return;
        if (facts_.durable) target->sync();
        target->close();
      });
    }
  }
  for (const OwnFile& f : mine_.files)
    if (f.boundary_blocks) f.boundary_blocks->end();
  return problem;
}

}  // namespace sheaf::multifile

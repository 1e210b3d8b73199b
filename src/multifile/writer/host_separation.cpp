#include "multifile/writer/host_separation.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "layout/regions.hpp"
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

HostSeparation find_separation(Store& store, Comm& comm, const std::string& path) {
  HostSeparation found;
  if (comm.rank() == 0)
    attempt([&] {
      found = HostSeparation::by(store.traits(path));
      if (store.target_of(path) != path)
        found.everywhere = false;  // the other files are not in the directory of the link's target
    });                            // a missing directory is reported when the files are created
  comm.broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
  return found;
}

void find_hosts_of_set(OpenedSet& set) {
  static_cast<JournalHosts&>(set.hosts) = find_hosts(*set.comm, *set.comm);
  if (set.hosts.count == 1) return;
  const HostSeparation found = find_separation(set.store(), *set.comm, set.path);
  set.hosts.unit = found.unit();
  set.hosts.own_caches = found.own_caches();
}

std::shared_ptr<BoundaryBlocks> boundary_blocks_of(const OpenedSet& set, int32_t file) {
  if (set.hosts.unit == 0) return nullptr;
  return std::make_shared<BoundaryBlocks>(set.store(), set.name_of(file),
                                          set.stream->target().keeps_journal());
}

void know_journal(const OpenedSet& set, OwnFile& file, const format::Header& header,
                  const std::optional<format::Extension>& extension) {
  file.key = JournalKey::of(header, extension);
  file.key.hosts = set.hosts;
  file.key.own_caches = set.hosts.own_caches;
  // With a shared granularity, only the metadata writer may write META1, so it sets the mark when it writes
  // META1. Otherwise the task with local rank 0 sets the mark later.
  file.key.first = set.hosts.unit == 0 && std::ranges::any_of(set.tasks, [&](const OwnTask& t) {
                     return t.place.local_rank == 0 && set.files[t.file].number == file.number;
                   });
}

void keep_hosts_apart(OpenedSet& set) {
  if (set.hosts.unit == 0) return;
  std::vector<HostedRow> own;
  for (const size_t i : set.by_row) {
    const layout::ChunkGeometry& chunks = set.tasks[i].geometry;
    own.push_back({set.tasks[i].row, set.hosts.mine, chunks.start, chunks.start + chunks.size});
  }
  std::optional<Error> problem;
  MetadataPartition& slices = *set.placed->rows;
  const auto runs_of_rows = slices.ask<RunOfRow>(
      std::span<const HostedRow>(own), problem, [&](const std::vector<HostedRow>& asked) {
        std::vector<HostedRow> rows(static_cast<size_t>(slices.count()), {.host = -1});
        for (const HostedRow& r : asked) rows[static_cast<size_t>(r.row - slices.first())] = r;
        std::vector<RunOfRow> runs(rows.size()), answers;
        for (const Segment& s : set.placed->segments)
          find_runs(s.of(rows), s, set.hosts.unit, s.of(std::span(runs)));
        for (const HostedRow& r : asked) answers.push_back(runs[static_cast<size_t>(r.row - slices.first())]);
        return answers;
      });
  agree(*set.comm, problem);

  std::vector<std::vector<BoundaryBlocks::BoundaryRow>> rows(set.files.size());
  std::vector<int64_t> units(set.files.size());
  for (size_t k = 0; k < set.by_row.size(); ++k) {
    const RunOfRow& run = runs_of_rows[k];
    const OwnTask& t = set.tasks[set.by_row[k]];
    BoundaryBlocks::BoundaryRow row{t.place.local_rank, {run.begin, run.end, 0}};
    // When appending, the boundary blocks of a task begin where its stream continues, which may be in another
    // round than for its neighbours.
    if (set.old())
      row = {t.place.local_rank,
             {t.geometry.start, t.geometry.start + t.geometry.size,
              set.placed->ends_before[set.by_row[k]].block},
             set.placed->ends_before[set.by_row[k]].offset};
    rows[t.file].push_back(row);
    units[t.file] = run.unit;
  }
  for (size_t f = 0; f < set.files.size(); ++f) {
    const OwnFile& file = set.files[f];
    file.boundary_blocks->set(file.key, units[f], layout::data_start(file.file_tasks, file.fsblksize),
                              std::ranges::find(set.tasks, f, &OwnTask::file)->geometry.skip,
                              std::move(rows[f]));
  }
}

}  // namespace sheaf::multifile

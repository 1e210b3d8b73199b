#include "multifile/writer/parallel_layout.hpp"

#include "base/checked.hpp"
#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/reduce.hpp"
#include "layout/regions.hpp"

namespace sheaf::multifile {

namespace {

// Returns a communicator of the tasks that take part in the collective calls of this file.
Comm& meeting_of(const OpenedSet& set) {
  const auto& collecting = set.collecting;
  return collecting && collecting->means.meeting ? *collecting->means.meeting : set.local();
}

// Layout of this task's chunk if two hosts must not write within one shared granularity.
struct RegionPlan {
  layout::RegionChunk chunk;
  layout::GroupPlace run;  // of this task
  int64_t unit = 0;        // shared granularity in bytes; 0: no run has boundary blocks
};

// Returns the layout of this task's chunk. Collective over the tasks of the file. Throws on all these tasks
// alike.
RegionPlan plan_regions(const OpenedSet& set, int64_t chunk_size, const NewGroups& groups) {
  Comm& local = set.local();
  RegionPlan plan{{chunk_size, chunk_size}, {}, 0};
  if (!set.files[0].boundary_blocks || set.facts.fsblksize == 0) return plan;
  const int64_t total = prefixed_sum(local, chunk_size).total;
  using Begins = layout::GroupPass::Begins;
  const bool first = groups.spans_hosts ? groups.group.rank() == 0 : is_first_of_host(local, set.hosts.mine);
  plan.run = place_in_groups(local, chunk_size, -1, first ? Begins::every_task : Begins::first_task);

  int64_t unit = set.hosts.unit;
  if (unit > layout::largest_unit) {
    MinMax run(plan.run.sum);
    reduce(local, run);
    if (run.min < unit) {
      if (set.tasks[0].task == 0)
        add_warning("'" + set.stream->target().file().path() + "': the file system stores " +
                    std::to_string(unit >> 20) + " MiB of a file together, and " +
                    "a host has less of this one: hosts will wait for each other (files=auto gives each host "
                    "files of its own)");
      unit = layout::largest_page;
    }
  }
  if (set.facts.fsblksize % unit == 0) return plan;  // all chunks and groups are aligned
  const int64_t start = layout::data_start(local.size(), set.facts.fsblksize);
  const auto enlarged =
      attempt([&] { plan.chunk = layout::enlarged_chunk(local.rank(), chunk_size, plan.run, start, unit); });
  if (enlarged) plan.chunk = {INT64_MAX, INT64_MAX};
  int64_t growth = plan.chunk.size - chunk_size;
  local.all_sum(std::span(&growth, 1));
  if (!set.hosts.keeps_chunks && growth >= 0 && layout::may_grow(growth, total, set.hosts.count, unit))
    return plan;
  plan.chunk = {chunk_size, chunk_size};
  plan.unit = unit;
  return plan;
}

// Places this task's chunk, and sets up its boundary blocks. Sets `chunk_size` to the size that it takes in
// the file. Collective over the tasks of the file.
layout::ChunkGeometry place_chunk(OpenedSet& set, const NewGroups& groups, int64_t& chunk_size) {
  Comm& local = set.local();
  const auto& boundary_blocks = set.files[0].boundary_blocks;
  const RegionPlan plan =
      collective_call(local.job_end(), "open", [&] { return plan_regions(set, chunk_size, groups); });
  chunk_size = plan.chunk.size;
  const PrefixedSum sum =
      groups.placed && !boundary_blocks ? *groups.placed : prefixed_sum(local, chunk_size);
  if (set.facts.fsblksize == 0) return {};  // the first task of the file has failed and reports it
  const int64_t begin = layout::data_start(local.size(), set.facts.fsblksize);
  must_fit(checked_add(begin, sum.total), "the multifile");
  if (boundary_blocks) {
    std::vector<BoundaryBlocks::BoundaryRow> rows;
    const int64_t run = begin + plan.run.before;
    if (plan.run.sum > 0) rows.push_back({local.rank(), {run, run + plan.run.sum, 0}});
    boundary_blocks->set(set.stream->target().journal_key(), plan.unit, begin, sum.total, std::move(rows));
  }
  return {begin + sum.before, sum.total, plan.chunk.usable};
}

// Discards what the file held before this open. The first task of the file does it; no task may write its
// slice before that. Collective over the tasks of the file. Returns true if it succeeded.
bool empty_group_file(OpenedSet& set, std::optional<Error>& problem) {
  if (set.local().rank() == 0)
    problem = attempt([&] {
      File& file = set.stream->target().file();
      drop_set_aside(set);
      empty(set.store(), file);
      remove_leftovers(set.store(), file.path(), {}, set.hosts.count);
    });
  int64_t ready = !problem;
  set.local().broadcast(std::as_writable_bytes(std::span(&ready, 1)), 0);
  return ready != 0;
}

}  // namespace

std::vector<Segment> own_segment(const OpenedSet& set, const MetadataPartition& slices) {
  if (!slices.is_metadata_writer()) return {};
  const OwnTask& t = set.tasks[0];
  return {
      {t.place.file, set.facts.fsblksize, slices.first(), slices.count(), t.file_tasks, t.geometry.skip, 0}};
}

std::optional<Error> form_groups(OpenedSet& set, int64_t request, GroupLayout& layout) {
  CollectiveWriteState* const collecting = set.collecting.get();
  if (!collecting) return std::nullopt;
  return attempt([&] {
    const int64_t host = set.files[0].boundary_blocks ? set.hosts.mine : -1;
    layout.groups = make_groups(
        meeting_of(set), {request, collecting->fsblksize, collecting->chooses_blocks, host}, collecting->plan,
        collecting->means.mover ? Spread{}
                                : Spread{collecting->nodes, set.facts.filenumber, set.facts.nfiles});
    layout.chunk_size = layout.groups.chunk_size;
    JournalKey key = set.stream->target().journal_key();
    key.fsblksize = set.facts.fsblksize = static_cast<int32_t>(layout.groups.fsblksize);
    set.stream->target().know_file(key);
    const CollectiveGroup& group = layout.groups.group;
    if (group.place().count == 1 && group.collector() == 0) return;  // the first task has its file open
    agree(meeting_of(set), attempt([&] {
            if (group.is_collector() && collecting->file) collecting->file->real();
          }));
  });
}

void lay_out_group(OpenedSet& set, GroupLayout layout, std::optional<Error> problem) {
  OwnTask& task = set.tasks[0];
  task.geometry = {};
  attempt(problem, [&] { task.geometry = place_chunk(set, layout.groups, layout.chunk_size); });
  MetadataPartition slices(set.local(), slicing_of_group(set));
  const RequestedRow row{set.local().rank(), task.task, layout.chunk_size};
  const auto rows = records_of<RequestedRow>(slices.collect(std::span(&row, 1)));
  const auto write = [&] {
    if (problem) return;
    problem = attempt([&] {
      write_metadata(set, own_segment(set, slices), rows, layout.base, layout.extension);
      if (CollectiveWriteState* const collecting = set.collecting.get())
        collecting->writer =
            std::make_unique<CollectiveWriter>(meeting_of(set), std::move(layout.groups), collecting->plan,
                                               *set.stream, collecting->file, collecting->means);
    });
  };

  if (layout.is_new) write();
  int64_t in_the_way = !layout.is_new;
  agree(*set.comm, problem, std::span(&in_the_way, 1));
  if (in_the_way) {
    if (!layout.is_new && empty_group_file(set, problem)) write();
    agree(*set.comm, problem);
  }
  set.files[0].fsblksize = set.facts.fsblksize;
  set.blocks[0] = TaskBlocks::with_sums(set.stream->blocks().piece);
  if (set.compressed) set.compressed->parked[0] = {};
}

void lay_out_again(OpenedSet& set, int64_t chunk_size) {
  WriteStream& stored = *set.stream;
  GroupLayout layout;
  std::string base;
  agree(*set.comm, attempt([&] {
    if (set.local().rank() == 0) {
      MetadataReader before(stored.target().file());
      base = before.header().name();
      layout.extension = before.extension();
    }
    if (chunk_size < 0)
      throw Error(Code::invalid_argument, "chunk size " + std::to_string(chunk_size) + " is negative");
    WriteStream& plain = set.plain();
    plain.flush();
    // A stream whose last write failed may still hold frames.
    if (plain.blocks().count() > 1 || plain.bytes_written() > 0 || stored.bytes_written() > 0)
      throw Error(Code::wrong_mode, "'" + stored.target().file().path() +
                                        "': chunk sizes can change only before anything is written");
    layout.chunk_size = layout::aligned_chunk(chunk_size, set.facts.fsblksize);
  }));
  layout.base = base;
  if (set.collecting) {
    set.collecting->writer.reset();
    set.collecting->file->hold(0, 0);
  }
  const auto unformed = form_groups(set, chunk_size, layout);
  stored.target().release_journal();  // journal of the old layout
  lay_out_group(set, std::move(layout), unformed);
}

}  // namespace sheaf::multifile

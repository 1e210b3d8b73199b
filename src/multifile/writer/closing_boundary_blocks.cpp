// Merges the boundary blocks of the hosts in the close.
#include <algorithm>

#include "comm/reduce.hpp"
#include "layout/regions.hpp"
#include "multifile/collective/merge_boundary_blocks.hpp"
#include "multifile/writer/closing_steps.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

namespace {

constexpr int32_t files_at_once = 64;

// Values of one file that all its processes need to merge boundary blocks.
struct FileBoundaryBlocks {
  bool has_boundary_blocks = false, failed = false;
  int64_t unit = 0, data_start = 0, end = 0, metadata_writer = 0;
  std::vector<Extent> extents = {};  // boundary blocks that this process has written; not combined
  constexpr void combine(auto& by) {
    by.any(has_boundary_blocks).any(failed).max(unit).max(data_start).max(end).max(metadata_writer);
  }
};

// Adds the boundary blocks with bytes that a task has written since the open.
void add_extents(const OpenedSet& set, size_t task, std::vector<Extent>& extents) {
  const OwnTask& t = set.tasks[task];
  const TaskBlocks& blocks = set.blocks[task];
  const StreamPosition before = set.old() ? set.placed->ends_before[task] : StreamPosition{};
  for (int64_t b = before.block; b < blocks.count(); ++b) {
    const int64_t from = b == before.block ? before.offset : 0;
    add_boundary_blocks(set.files[t.file].boundary_blocks->map(), t.geometry.offset(b) + from,
                        blocks.size_of(b) - from, extents);
  }
}

// Returns the values for `count` files from `first` on, before they are combined. Local.
std::vector<FileBoundaryBlocks> own_boundary_blocks(const OpenedSet& set,
                                                    std::span<const EndedSegment> segments, int32_t first,
                                                    int32_t count) {
  std::vector<FileBoundaryBlocks> files(static_cast<size_t>(count));
  const auto find = [&](int32_t file) {
    return file >= first && file < first + count ? &files[static_cast<size_t>(file - first)] : nullptr;
  };
  for (const EndedSegment& s : segments)
    if (FileBoundaryBlocks* const f = find(s.file)) {
      f->end = s.pointer.varheader;
      f->failed = !s.sound;
      f->metadata_writer = set.local().rank();
    }
  for (size_t i = 0; i < set.tasks.size(); ++i) {
    const OwnTask& t = set.tasks[i];
    const OwnFile& own = set.files[t.file];
    FileBoundaryBlocks* const f = find(t.place.file);
    if (!f || !own.boundary_blocks->in_use()) continue;
    add_extents(set, i, f->extents);
    f->has_boundary_blocks |= !f->extents.empty();
    f->unit = own.boundary_blocks->unit();
    f->data_start = layout::data_start(t.file_tasks, own.fsblksize);
  }
  return files;
}

// Merges the boundary blocks of one file. Collective.
std::optional<Error> merge_file(const OpenedSet& set, int32_t number, FileBoundaryBlocks& values) {
  const std::string name = set.name_of(number);
  std::ranges::sort(values.extents, {}, &Extent::offset);
  const auto own = std::ranges::find(set.files, number, &OwnFile::number);
  std::shared_ptr<File> target;
  const auto open = [&]() -> File& {
    if (!target) target = open_with_retries(set.store(), name, Access::write);
    return *target;
  };
  const BoundaryMergeTarget where{values.unit, values.data_start, values.end, set.hosts.count,
                                  static_cast<int>(values.metadata_writer)};
  auto problem =
      merge_boundary_blocks(set.local(), name, open, where,
                            own == set.files.end() ? nullptr : own->boundary_blocks.get(), values.extents);
  attempt(problem, [&] {
    if (!target) return;
    if (set.facts.durable) target->sync();
    target->close();
  });
  return problem;
}

}  // namespace

std::optional<Error> merge_own_boundary_blocks(const OpenedSet& set, std::span<const EndedSegment> segments) {
  // local() has the tasks of one file, or of all files.
  const int32_t begin = set.files_comm ? set.facts.filenumber : 0;
  const int32_t end = set.files_comm ? begin + 1 : set.facts.nfiles;
  std::optional<Error> problem;
  for (int32_t first = begin; first < end; first += files_at_once) {
    auto files = own_boundary_blocks(set, segments, first, std::min(files_at_once, end - first));
    reduce_each(set.local(), std::span(files));
    for (size_t k = 0; k < files.size(); ++k) {
      if (!files[k].has_boundary_blocks || files[k].failed) continue;
      const auto lost = merge_file(set, first + static_cast<int32_t>(k), files[k]);
      if (!problem) problem = lost;
    }
  }
  for (const OwnFile& f : set.files)
    if (f.boundary_blocks) f.boundary_blocks->end();
  return problem;
}

}  // namespace sheaf::multifile

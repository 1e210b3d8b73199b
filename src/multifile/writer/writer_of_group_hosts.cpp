// Separates the bytes of different hosts in a multifile written by processes with one task each.
#include <algorithm>

#include "base/warnings.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::multifile {

// Returns the layout of this task's chunk. Collective over the tasks of the file. Throws on all these tasks
// alike.
Writer::RegionPlan Writer::plan_regions(int64_t chunk_size, const NewGroups& groups) {
  RegionPlan plan{{chunk_size, chunk_size}, {}, 0};
  if (!boundary_blocks() || facts_.fsblksize == 0) return plan;
  const int64_t total = prefixed_sum(local(), chunk_size).total;
  using Begins = layout::GroupPass::Begins;
  const bool first = groups.spans_hosts ? groups.group.rank() == 0 : is_first_of_host(local(), hosts_.mine);
  plan.run = place_in_groups(local(), chunk_size, -1, first ? Begins::every_task : Begins::first_task);

  int64_t unit = unit_;
  if (unit > layout::largest_unit) {
    int64_t smallest = -plan.run.sum;
    local().all_max(std::span(&smallest, 1));
    if (-smallest < unit) {
      if (task() == 0)
        add_warning("'" + path() + "': the file system stores " + std::to_string(unit >> 20) +
                    " MiB of a file together, and " +
                    "a host has less of this one: hosts will wait for each other (files=auto gives each host "
                    "files of its own)");
      unit = layout::largest_page;
    }
  }
  if (facts_.fsblksize % unit == 0) return plan;  // all chunks and groups are aligned
  const int64_t start = layout::data_start(local().size(), facts_.fsblksize);
  const auto enlarged = attempt(
      [&] { plan.chunk = layout::enlarged_chunk(local().rank(), chunk_size, plan.run, start, unit); });
  if (enlarged) plan.chunk = {INT64_MAX, INT64_MAX};
  int64_t growth = plan.chunk.size - chunk_size;
  local().all_sum(std::span(&growth, 1));
  if (!keeps_chunks_ && growth >= 0 && layout::may_grow(growth, total, hosts_.count, unit)) return plan;
  plan.chunk = {chunk_size, chunk_size};
  plan.unit = unit;
  return plan;
}

}  // namespace sheaf::multifile

// multifile/writer/closing_steps: steps of a close, each on its own (multifile/writer/close_protocol).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "multifile/metadata/slice_sums.hpp"
#include "multifile/writer/block_table.hpp"
#include "multifile/writer/ended_segment.hpp"
#include "multifile/writer/opened_set.hpp"

namespace sheaf::multifile {

// Blocks and checksums of the tasks of this process.
struct ClosingRows {
  std::vector<std::byte> rows;  // encoded by append_row(), in the order of rows
  std::vector<uint32_t> sums;   // in the same order
  // Loss of bytes that tasks of this process wrote, because the program wrote beyond a chunk through its own
  // handle.
  std::optional<Error> losses;

  // Calls visit(index, RowView, checksums of the row) for each task.
  template <class Visit>
  void for_each(const LocalTasks& tasks, Visit&& visit) const {
    const std::byte* next = rows.data();
    std::span<const uint32_t> left = sums;
    for (const size_t i : tasks.row_order()) {
      const RowView row(next);
      const auto n = static_cast<size_t>(row.sums());
      visit(i, row, left.first(n));
      left = left.subspan(n);
      next += row.bytes();
    }
  }
};

// Combines the segments of each file into the final state of the file. Collective. An error goes to `problem`
// unless that is set already.
std::vector<EndedSegment> find_ends(const OpenedSet& set, MetadataPartition& slices,
                                    std::span<const Segment> segments, const BlockTable& table,
                                    const SliceSums& sums, std::optional<Error>& problem);

// Merges the boundary blocks into the files after all bytes were written, except in files with a failed task.
// Collective. Returns the error of this process, if any.
std::optional<Error> merge_own_boundary_blocks(const OpenedSet& set, std::span<const EndedSegment> segments);

// Plans the rounds in which metadata writers receive the checksums that were not sent with the rows. A round
// has one gather to each metadata writer that still lacks some. A process that does not get the position of
// its checksums from a metadata writer sends none, and the metadata writer fails. Collective. `slices` and
// `rows` must outlive the result.
SumRounds plan_rounds(const LocalTasks& mine, const ClosingRows& rows, MetadataPartition& slices,
                      const BlockTable& table, const SliceSums& sums, std::optional<Error>& problem);

// Writes a metadata writer's part of META2 and of the trailers. Writes nothing and returns false if a task of
// its files has failed. Local, except for the rounds of checksums.
bool write_tables(const OpenedSet& set, std::span<const EndedSegment> segments, const BlockTable& table,
                  SliceSums& sums, SumRounds& rounds);

// Writes a mapping with entries that only the tasks, or the metadata writers of slices of task numbers, know.
// With several hosts, the process that writes the surrounding bytes writes all of the mapping. Collective.
void write_known_mapping(const OpenedSet& set, const ClosingLead& lead);
// Writes the mapping of the tasks from `first` on, and its checksums. `lead` is file 0. Local.
void write_mapping_of(const OpenedSet& set, const EndedSegment& lead, int64_t first,
                      std::span<const layout::Placement> entries);

// Returns what completes the file of the segment.
format::CompletionMark mark_of(const OpenedSet& set, const EndedSegment& segment);

}  // namespace sheaf::multifile

// multifile/writer/block_table: holds the rows (append_row()) that a metadata writer receives at close from
// the tasks of its slice. When a multifile is appended to, tasks that send no row keep their earlier one.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "multifile/metadata/metadata_partition.hpp"
#include "multifile/metadata/slice_sums.hpp"
#include "multifile/reader/table_slice.hpp"
#include "multifile/stream/task_blocks.hpp"

namespace sheaf::multifile {

class BlockTable {
 public:
  // Takes the rows that `slices` has collected. `old` is null or must outlive the table.
  BlockTable(Gathered collected, const MetadataPartition& slices, const TableSlice* old)
      : collected_(std::move(collected)),
        old_(old),
        counts_(static_cast<size_t>(slices.count())),
        rows_(counts_.size()),
        processes_(counts_.size()),
        first_(slices.first()) {
    if (old) counts_ = old->counts;
    for_each_row([&](size_t process, size_t row, const RowView& view) {
      rows_[row] = view;
      counts_[row] = view.blocks();
      processes_[row] = static_cast<int>(process);
    });
  }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Calls visit(process, number of the row in the slice, RowView) for all received rows, in the order of the
  // processes.
  template <class Visit>
  void for_each_row(Visit&& visit) const {
    const std::byte* next = collected_.bytes.data();
    const std::byte* end = next;
    for (size_t process = 0; process < collected_.sizes.size(); ++process)
      for (end += collected_.sizes[process]; next < end; next += RowView(next).bytes())
        visit(process, static_cast<size_t>(RowView(next).row() - first_), RowView(next));
  }
  size_t processes() const { return collected_.sizes.size(); }
  // Returns the number of blocks of each task; 0: the task has failed.
  std::span<const int64_t> counts() const { return counts_; }
  int64_t size_of(size_t row, int64_t block) const {
    return rows_[row].empty() ? old_->block(row, block) : rows_[row].size_of(block);
  }
  bool may_have_journal(size_t row) const { return !rows_[row].empty() && rows_[row].may_have_journal(); }
  SliceSums sums() const {
    SliceSums sums(rows_.size());
    auto kept = old_ ? std::as_bytes(std::span(old_->data_sums)) : std::span<const std::byte>();
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (const RowView& view = rows_[row]; !view.empty() || !old_) {
        sums.add(view.sums(), view.sums_here(), processes_[row]);
        continue;
      }
      const auto bytes = static_cast<size_t>(4 * old_->count_sums(row));
      sums.add(std::ssize(kept.first(bytes)) / 4, kept.first(bytes), 0);
      kept = kept.subspan(bytes);
    }
    return sums;
  }

 private:
  Gathered collected_;
  const TableSlice* old_;
  std::vector<int64_t> counts_;
  std::vector<RowView> rows_;
  std::vector<int> processes_;
  int64_t first_;
};

}  // namespace sheaf::multifile

// multifile/metadata/task_table: provides the per-task metadata of a physical file. Reads and validates all
// metadata once, in slices. Afterwards holds them in memory if they are small, and reads them again on demand
// otherwise. A file may therefore claim any number of tasks and blocks without causing large allocations. All
// sizes and offsets are in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/export.hpp"
#include "layout/placement.hpp"
#include "multifile/metadata/constants.hpp"
#include "multifile/metadata/many_blocks.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

// One task.
struct TaskRow {
  layout::Placement place;
  int64_t globalrank = 0;
  int64_t stored_chunk = 0;  // chunk size in the file; before format 4, offsets do not follow from it
  layout::ChunkGeometry geometry;
  SumsPlace sums;
  BlockSizes sizes;                  // valid as long as `held`
  std::shared_ptr<const void> held;  // owner of the memory that `sizes` refers to
};

// Rows of consecutive tasks.
struct RowSlice {
  int64_t first = 0;
  std::vector<int64_t> globalranks, chunks, counts;
  std::vector<int64_t> stored_chunks;  // empty: equal to chunks
  std::vector<int64_t> starts;         // of chunk 0
  std::vector<int64_t> sums;           // file offsets of the tasks' checksums; empty: no checksums
  std::vector<int64_t> sizes;          // concatenated block sizes of the tasks
  std::vector<int64_t> sizes_at;       // index in `sizes` of each task's first; -1: too many blocks
  int64_t next_start = 0;              // start of the task after the slice
  int64_t next_sum = 0;                // number of checksums before that task

  int64_t end() const { return first + std::ssize(counts); }
  int64_t bytes() const;
};

// The rows of all tasks of a physical file. Thread-safe.
class SHEAF_EXPORT TaskTable {
 public:
  // Reads and validates the tables of the file that `reader` reads, located by `pointer`. Holds them if they
  // take at most `max_held` bytes. Throws what the reader throws, and damaged. The file must outlive the
  // table.
  TaskTable(std::unique_ptr<MetadataReader> reader, const format::Pointer& pointer, int64_t max_held);

  int64_t skip() const { return skip_; }              // distance between two chunks of a task
  int64_t data_bytes() const { return data_bytes_; }  // of all tasks
  int64_t largest_task() const { return largest_task_; }
  int64_t largest_chunk() const { return largest_chunk_; }
  bool has_sums() const { return piece_ > 0; }
  // Returns the blocks that were truncated, so that their size differs from the stored one.
  std::span<const layout::CutBlock> cut_blocks() const { return cut_blocks_; }
  bool is_held() const { return held_ != nullptr; }
  int64_t bytes_held() const { return held_ ? held_->bytes() : 0; }

  // Returns a slice of at most `max_tasks` tasks that contains `task`. `before` is the slice read previously,
  // or null. If possible, reading continues at its end.
  std::shared_ptr<const RowSlice> slice_with(int64_t task, const RowSlice* before, int64_t max_tasks) const;
  // Sets all members of `row` except its place to those of task `task` of the slice.
  void fill(TaskRow& row, const std::shared_ptr<const RowSlice>& slice, int64_t task) const;

  // Reads block sizes of one round as stored, including those of unused rounds.
  void read_stored_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) const;
  // Returns the number of entries of the mapping in file 0 of a set. Verifies its checksums, if any.
  int64_t check_mapping() const;
  // Reads entries of the mapping and validates them.
  void read_mapping(int64_t first, std::span<layout::Placement> entries) const;
  // Verifies the checksums of the data checksums. Throws damaged.
  void check_sums() const;

 private:
  const format::Header& header() const { return tables_->reader->header(); }
  int64_t ntasks() const { return header().ntasks; }
  void check_against_sums();
  void sum_chunks();
  void hold_rows(int64_t max_held);
  bool check_blocks();
  // Reads a slice from task `first` on. Chunk 0 of this task is at offset `start`. `sum` is the number of
  // checksums before the task, ignored if the task begins a group.
  std::shared_ptr<const RowSlice> read_slice(
      int64_t first, int64_t start, int64_t sum, int64_t max_tasks,
      int64_t sizes_at_once = metadata_constants::row_sizes_at_once) const;
  void place_sums(RowSlice& slice, int64_t sum) const;
  int64_t start_of(int64_t task) const;

  std::shared_ptr<SharedReader> tables_;
  int64_t skip_ = 0;
  int64_t data_bytes_ = 0, largest_task_ = 0, largest_chunk_ = 0;
  uint32_t piece_ = 0;
  std::vector<layout::CutBlock> cut_blocks_;
  int64_t sums_at_ = 0;          // offset in the file of the data checksums
  std::vector<int64_t> starts_;  // start of chunk 0 of every starts_step_-th task
  int64_t starts_step_ = format::group_tasks;
  std::shared_ptr<const RowSlice> held_;  // null: too large
};

}  // namespace sheaf::multifile

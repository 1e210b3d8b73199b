// metadata/task_table: what the metadata of a physical file say of its tasks. Everything is read and checked
// once, in slices; after that it is held if it is little, and else read again where it is asked for. So a
// file can claim any number of tasks and blocks without being given the memory for them. All sizes and
// offsets in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/export.hpp"
#include "layout/placement.hpp"
#include "metadata/constants.hpp"
#include "metadata/many_blocks.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// One task.
struct TaskRow {
  layout::Placement place;
  int64_t globalrank = 0;
  int64_t stored_chunk = 0;  // its chunk size in the file: before format 4 not that which places follow from
  layout::ChunkGeometry geometry;
  SumsPlace sums;
  BlockSizes sizes;                  // as long as somebody has
  std::shared_ptr<const void> held;  // this
};

// Rows of consecutive tasks.
struct RowSlice {
  int64_t first = 0;
  std::vector<int64_t> globalranks, chunks, counts;
  std::vector<int64_t> stored_chunks;  // empty: the same as chunks
  std::vector<int64_t> starts;         // of chunk 0
  std::vector<int64_t> sums;           // offsets in the file of their checksums; empty: there are none
  std::vector<int64_t> sizes;          // of the blocks of these tasks, one task behind the other
  std::vector<int64_t> sizes_at;       // where those of a task begin; -1: it has too many
  int64_t next_start = 0;              // of the task behind
  int64_t next_sum = 0;                // number of checksums before it

  int64_t end() const { return first + std::ssize(counts); }
  int64_t bytes() const;
};

// From any thread.
class SHEAF_EXPORT TaskTable {
 public:
  // Reads and checks the tables of the file that `reader` reads and whose pointer is `pointer`. Holds them if
  // that takes no more than `most_held`. Throws what the reader throws, and damaged. The file outlives the
  // table.
  TaskTable(std::unique_ptr<MetadataReader> reader, const format::Pointer& pointer, int64_t most_held);

  int64_t skip() const { return skip_; }              // distance between two chunks of a task
  int64_t data_bytes() const { return data_bytes_; }  // of all tasks
  int64_t largest_task() const { return largest_task_; }
  int64_t largest_chunk() const { return largest_chunk_; }
  bool has_sums() const { return piece_ > 0; }
  // Those whose size is not the stored one.
  std::span<const layout::CutBlock> cut_blocks() const { return cut_blocks_; }
  bool is_held() const { return held_ != nullptr; }
  int64_t bytes_held() const { return held_ ? held_->bytes() : 0; }

  // The slice that has this task; the best one to read behind `before`, which may be null. Of most_tasks
  // tasks, or fewer.
  std::shared_ptr<const RowSlice> slice_with(int64_t task, const RowSlice* before, int64_t most_tasks) const;
  // Makes `row` that of a task in the slice, all but its place.
  void fill(TaskRow& row, const std::shared_ptr<const RowSlice>& slice, int64_t task) const;

  // Block sizes of one round as they are stored, also those that do not count.
  void read_stored_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) const;
  // Of a set that this file leads: the number of entries of its mapping, and some of them, checked.
  int64_t read_mapping_size() const;
  void read_mapping(int64_t first, std::span<layout::Placement> entries) const;
  void check_mapping(int64_t entries) const;  // with its checksums, if there are any
  // Compares the checksums of the data with their own. Throws damaged.
  void check_sums() const;

 private:
  const format::Header& header() const { return tables_->reader->header(); }
  int64_t ntasks() const { return header().ntasks; }
  void check_against_sums();
  void sum_chunks();
  void hold_rows(int64_t most_held);
  bool check_blocks();
  bool check_blocks(const std::shared_ptr<const RowSlice>& slice);
  // sum: number of checksums before the first task, if it does not begin a group.
  std::shared_ptr<const RowSlice> read_slice(
      int64_t first, int64_t start, int64_t sum, int64_t most_tasks,
      int64_t sizes_at_once = metadata_constants::row_sizes_at_once) const;
  void read_sizes(RowSlice& slice) const;
  void place_sums(RowSlice& slice, int64_t sum) const;
  int64_t start_of(int64_t task) const;

  std::shared_ptr<SharedReader> tables_;
  int64_t skip_ = 0;
  int64_t data_bytes_ = 0, largest_task_ = 0, largest_chunk_ = 0;
  uint32_t piece_ = 0;
  std::vector<layout::CutBlock> cut_blocks_;
  int64_t sums_at_ = 0;          // offset in the file of the checksums of the data
  std::vector<int64_t> starts_;  // of chunk 0 of every starts_step_-th task
  int64_t starts_step_ = format::group_tasks;
  std::shared_ptr<const RowSlice> held_;  // null: too much
};

}  // namespace sheaf

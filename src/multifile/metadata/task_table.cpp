#include "multifile/metadata/task_table.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "layout/slices.hpp"
#include "multifile/metadata/constants.hpp"

namespace sheaf::multifile {

using format::group_tasks;

using namespace metadata_constants;

int64_t RowSlice::bytes() const {
  return static_cast<int64_t>(sizeof *this +
                              8 * (globalranks.size() + chunks.size() + counts.size() + stored_chunks.size() +
                                   starts.size() + sums.size() + sizes.size() + sizes_at.size()));
}

TaskTable::TaskTable(std::unique_ptr<MetadataReader> reader, const format::Pointer& pointer, int64_t max_held)
    : tables_(std::make_shared<SharedReader>()) {
  tables_->reader = std::move(reader);
  tables_->pointer = pointer;
  check_against_sums();
  sum_chunks();
  hold_rows(max_held);
  if (!check_blocks()) return;
  cut_blocks_ = tables_->reader->find_overruns(tables_->pointer);
  if (cut_blocks_.empty()) return;
  held_.reset();
  hold_rows(max_held);
  check_blocks();
}

// Holds the rows if they take at most `max_held` bytes.
void TaskTable::hold_rows(int64_t max_held) {
  if (const int64_t rest = max_held - bytes_of_row * ntasks(); rest >= 8 * ntasks()) {
    auto all = read_slice(0, starts_.front(), 0, ntasks(), rest / 8);
    if (all->end() == ntasks() && std::ranges::find(all->sizes_at, -1) == all->sizes_at.end())
      held_ = std::move(all);
  }
}

// Returns whether any block is larger than its chunk.
bool TaskTable::check_blocks() {
  data_bytes_ = largest_task_ = 0;
  bool overruns = false;
  std::shared_ptr<const RowSlice> slice;
  TaskRow row;
  for (int64_t task = 0; task < ntasks(); ++task) {
    if (!slice || task == slice->end()) slice = slice_with(task, slice.get(), rows_at_once);
    fill(row, slice, task);
    int64_t total = 0;
    for (const auto [block, bytes] : row.sizes.used()) {
      tables_->reader->check_block(tables_->pointer, row.geometry, task, block, bytes);
      total += bytes;
      overruns |= bytes > row.geometry.size;
    }
    data_bytes_ += total;
    largest_task_ = std::max(largest_task_, total);
  }
  return overruns;
}

// Verifies the checksums of the metadata of all tasks.
void TaskTable::check_against_sums() {
  FileChecks* const checks = tables_->reader->checks(tables_->pointer);
  if (!checks) return;
  for (int64_t task = 0; task < ntasks(); task += group_tasks)
    checks->check_tasks(task, std::min(group_tasks, ntasks() - task));
  piece_ = checks->piece();
  const format::Section* const sums = checks->trailer().find(format::SectionKind::sums);
  sums_at_ = sums ? sums->offset : 0;
}

void TaskTable::sum_chunks() {
  MetadataReader& reader = *tables_->reader;
  while (ntasks() / starts_step_ > max_starts) starts_step_ *= 2;
  int64_t at = layout::data_start(ntasks(), header().fsblksize);
  starts_.push_back(at);
  skip_ = reader.visit_chunk_sizes(std::min(starts_step_, rows_at_once),
                                   [&](int64_t first, std::span<const int64_t> sizes) {
                                     if (first > 0 && first % starts_step_ == 0) starts_.push_back(at);
                                     for (const int64_t size : sizes) {
                                       at = saturated_add(at, size);
                                       largest_chunk_ = std::max(largest_chunk_, size);
                                     }
                                   });
  reader.check_pointer(tables_->pointer, skip_);
}

std::shared_ptr<const RowSlice> TaskTable::slice_with(int64_t task, const RowSlice* before,
                                                      int64_t max_tasks) const {
  if (held_) return held_;
  max_tasks = std::clamp(max_tasks, int64_t{1}, rows_at_once);
  const int64_t group = task / group_tasks * group_tasks;
  if (before && before->end() > task) before = nullptr;
  std::shared_ptr<const RowSlice> slice;
  for (; !before || before->end() <= task; before = slice.get()) {
    slice = before && before->end() >= group
                ? read_slice(before->end(), before->next_start, before->next_sum, max_tasks)
                : read_slice(group, start_of(group), 0, max_tasks);
  }
  return slice;
}

int64_t TaskTable::start_of(int64_t task) const {
  const int64_t begin = task / starts_step_;
  int64_t start = starts_[static_cast<size_t>(begin)];
  layout::for_each_slice(begin * starts_step_, task, rows_at_once,
                         [&](int64_t first, std::span<int64_t> sizes) {
                           tables_->locked()->read_chunk_sizes(first, sizes);
                           start = std::accumulate(sizes.begin(), sizes.end(), start);
                         });
  return start;
}

namespace {

// Reads the block sizes of the tasks of a slice that holds them.
void read_sizes(SharedReader& tables, RowSlice& slice) {
  const int64_t ntasks = tables.reader->header().ntasks;
  std::vector<size_t> tasks;  // tasks not finished before the round
  int64_t most = 0;
  for (size_t i = 0; i < slice.counts.size(); ++i) {
    if (slice.sizes_at[i] < 0) continue;
    tasks.push_back(i);
    most = std::max(most, slice.counts[i]);
  }
  const auto leave_out_finished = [&](int64_t round) {
    std::erase_if(tasks, [&](size_t i) { return slice.counts[i] <= round; });
  };
  std::vector<int64_t> table;
  for (int64_t round = 0; round < most;) {
    leave_out_finished(round);
    // Rounds of all tasks of the file are adjacent. Reading them together pays off if most tasks have them.
    const bool together = std::ssize(slice.counts) == ntasks && 4 * tasks.size() > slice.counts.size();
    const size_t begin = together ? 0 : tasks.front();
    const size_t width = together ? slice.counts.size() : tasks.back() + 1 - begin;
    const int64_t rounds = together ? std::clamp<int64_t>(row_sizes_at_once / ntasks, 1, most - round) : 1;
    table.resize(width * static_cast<size_t>(rounds));
    tables.locked()->read_block_sizes(tables.pointer, round, slice.first + static_cast<int64_t>(begin),
                                      table);
    for (auto row = table.begin(); row != table.end(); row += static_cast<std::ptrdiff_t>(width)) {
      leave_out_finished(round);
      for (const size_t i : tasks)
        slice.sizes[static_cast<size_t>(slice.sizes_at[i] + round)] =
            row[static_cast<std::ptrdiff_t>(i - begin)];
      ++round;
    }
  }
}

}  // namespace

std::shared_ptr<const RowSlice> TaskTable::read_slice(int64_t first, int64_t start, int64_t sum,
                                                      int64_t max_tasks, int64_t sizes_at_once) const {
  const auto result = std::make_shared<RowSlice>();
  RowSlice& slice = *result;
  slice.first = first;
  slice.counts.resize(static_cast<size_t>(std::min(max_tasks, ntasks() - first)));
  tables_->locked()->read_block_counts(tables_->pointer, first, slice.counts);
  int64_t sizes = 0;
  for (const int64_t count : slice.counts) {
    const bool many = count > sizes_at_once / 8;
    if (!many && sizes > 0 && sizes + count > sizes_at_once) break;
    slice.sizes_at.push_back(many ? -1 : sizes);
    sizes += many ? 0 : count;
  }
  const size_t n = slice.sizes_at.size();
  slice.counts.resize(n);
  slice.counts.shrink_to_fit();
  slice.sizes.resize(static_cast<size_t>(sizes));
  slice.globalranks.resize(n);
  slice.chunks.resize(n);
  if (header().version <= 3) slice.stored_chunks.resize(n);
  tables_->locked()->read_globalranks(first, slice.globalranks);
  tables_->locked()->read_chunk_sizes(first, slice.chunks);
  if (header().version <= 3) tables_->locked()->read_stored_chunk_sizes(first, slice.stored_chunks);
  slice.starts.reserve(n);
  slice.next_start = start;
  for (const int64_t chunk : slice.chunks) {
    slice.starts.push_back(slice.next_start);
    slice.next_start += chunk;
  }
  read_sizes(*tables_, slice);
  if (has_sums()) place_sums(slice, sum);
  return result;
}

// Computes where the checksums of each task begin. The file stores them consecutively, task by task.
void TaskTable::place_sums(RowSlice& slice, int64_t sum) const {
  slice.sums.reserve(slice.counts.size());
  for (size_t i = 0; i < slice.counts.size(); ++i) {
    const int64_t task = slice.first + static_cast<int64_t>(i);
    if (task % group_tasks == 0)
      sum = tables_->locked()->checks(tables_->pointer)->sums_before(task / group_tasks);
    slice.sums.push_back(sums_at_ + 4 * sum);
    const int64_t chunk = slice.chunks[i];
    if (chunk == 0) continue;
    const auto count = static_cast<int32_t>(slice.counts[i]);
    std::optional<ManyBlocks> many;
    const BlockSizes sizes = slice.sizes_at[i] >= 0
                                 ? BlockSizes(&slice.sizes[static_cast<size_t>(slice.sizes_at[i])], count)
                                 : BlockSizes(many.emplace(tables_, task, slice.counts[i]), count);
    for (const auto [block, bytes] : sizes.used())
      sum += bytes > 0 ? format::sums_of_block(bytes, chunk, piece_) : 0;
  }
  slice.next_sum = sum;
}

void TaskTable::fill(TaskRow& row, const std::shared_ptr<const RowSlice>& slice, int64_t task) const {
  const auto i = static_cast<size_t>(task - slice->first);
  const auto count = static_cast<int32_t>(slice->counts[i]);
  row.globalrank = slice->globalranks[i];
  row.stored_chunk = slice->stored_chunks.empty() ? slice->chunks[i] : slice->stored_chunks[i];
  row.geometry = {slice->starts[i], skip_, slice->chunks[i]};
  row.sums =
      slice->sums.empty() ? SumsPlace{} : SumsPlace{slice->sums[i], piece_, static_cast<int32_t>(task)};
  if (slice->sizes_at[i] >= 0) {
    row.sizes = {&slice->sizes[static_cast<size_t>(slice->sizes_at[i])], count};
    if (row.held != slice) row.held = slice;
  } else {
    const auto blocks = std::make_shared<ManyBlocks>(tables_, task, count);
    row.sizes = {*blocks, count};
    row.held = blocks;
  }
}

void TaskTable::read_stored_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) const {
  tables_->locked()->read_stored_block_sizes(tables_->pointer, round, first, sizes);
}

void TaskTable::read_mapping(int64_t first, std::span<layout::Placement> entries) const {
  tables_->locked()->read_mapping(tables_->pointer, first, entries);
}

int64_t TaskTable::check_mapping() const {
  const auto reader = tables_->locked();
  const int64_t entries = reader->read_mapping_size(tables_->pointer);
  if (FileChecks* const checks = reader->checks(tables_->pointer)) checks->check_mapping(0, entries, entries);
  return entries;
}

void TaskTable::check_sums() const {
  const auto reader = tables_->locked();
  if (FileChecks* const checks = reader->checks(tables_->pointer)) checks->check_sums();
}

}  // namespace sheaf::multifile

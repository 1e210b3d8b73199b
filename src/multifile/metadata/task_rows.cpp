#include "multifile/metadata/task_rows.hpp"

#include <algorithm>
#include <numeric>

#include "multifile/metadata/constants.hpp"

namespace sheaf::multifile {

using namespace metadata_constants;

const TaskRow& FileRows::at(int64_t local_rank) {
  const TaskTable& table = *file_->table;
  if (!slice_ || local_rank < slice_->first || local_rank >= slice_->end()) {
    tasks_at_once_ =
        slice_ && local_rank == slice_->end() ? std::min(2 * tasks_at_once_, largest_slice) : first_slice;
    slice_ = table.slice_with(local_rank, slice_.get(), tasks_at_once_);
  }
  table.fill(row_, slice_, local_rank);
  row_.place.local_rank = static_cast<int32_t>(local_rank);
  if (file_->plain) {
    const auto index = static_cast<size_t>(local_rank);
    const layout::ChunkGeometry geometry = file_->plain->geometry(index);
    row_ = {row_.place,  row_.globalrank, geometry.size, geometry, {}, file_->plain->sizes_of(index),
            file_->plain};
  }
  return row_;
}

TaskRows::TaskRows(const Multifile& multifile) : multifile_(&multifile) {
  const auto is_held = [](const PhysicalFile& f) { return f.table->is_held() || f.plain; };
  if (multifile.is_set() && (multifile.mapping.empty() || !std::ranges::all_of(multifile.files, is_held)))
    return;
  for (const PhysicalFile& f : multifile.files) files_.emplace_back(f, static_cast<int32_t>(files_.size()));
}

const TaskRow& TaskRows::at(int64_t task) {
  if (!files_.empty()) {
    const layout::Placement at = multifile_->place(task);
    return files_[static_cast<size_t>(at.file)].at(at.local_rank);
  }
  const int64_t end = batch_ ? batch_->first + std::ssize(batch_->rows) : 0;
  if (!batch_ || task < batch_->first || task >= end) {
    tasks_at_once_ = batch_ && task == end ? std::min(2 * tasks_at_once_, largest_batch) : first_slice;
    while (!gather(task, std::min(tasks_at_once_, multifile_->ntasks() - task))) tasks_at_once_ /= 2;
  }
  row_ = batch_->rows[static_cast<size_t>(task - batch_->first)];
  if (!row_.held) row_.held = batch_;
  return row_;
}

// Reads the rows of tasks [first, first + tasks) file by file, so that each slice of a file is read once.
// Returns false if the tasks have too many blocks; the caller then retries with fewer tasks.
bool TaskRows::gather(int64_t first, int64_t tasks) {
  std::vector<layout::Placement> places(static_cast<size_t>(tasks));
  multifile_->read_places(first, places);
  std::vector<uint32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(places[i].file, places[i].local_rank); });
  const auto batch = std::make_shared<RowBatch>();
  batch->first = first;
  batch->rows.resize(places.size());
  std::vector<size_t> begins(places.size());
  std::optional<FileRows> rows;
  int32_t file = -1;
  for (const uint32_t i : order) {
    if (places[i].file != file) {
      file = places[i].file;
      rows.emplace(multifile_->files[static_cast<size_t>(file)], file);
    }
    TaskRow& row = batch->rows[i];
    row = rows->at(places[i].local_rank);
    if (row.sizes.count > many_blocks) continue;  // read on demand
    if (batch->sizes.size() + static_cast<size_t>(row.sizes.count) > max_sizes && tasks > 1) return false;
    begins[i] = batch->sizes.size();
    for (int64_t b = 0; b < row.sizes.count; ++b) batch->sizes.push_back(row.sizes[b]);
    row.held = nullptr;
  }
  for (size_t i = 0; i < batch->rows.size(); ++i)
    if (TaskRow& row = batch->rows[i]; !row.held) row.sizes = {&batch->sizes[begins[i]], row.sizes.count};
  batch_ = batch;
  return true;
}

}  // namespace sheaf::multifile

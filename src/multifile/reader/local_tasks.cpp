#include "multifile/reader/local_tasks.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.hpp"

namespace sheaf::multifile {

namespace {

// Returns the indices of `tasks` in ascending order of `key`, which usually is their own order.
std::vector<size_t> ordered(std::span<const OwnTask> tasks, int64_t OwnTask::*key) {
  std::vector<size_t> indices(tasks.size());
  std::iota(indices.begin(), indices.end(), 0);
  if (!std::ranges::is_sorted(tasks, {}, key))
    std::ranges::stable_sort(indices, {}, [&](size_t i) { return tasks[i].*key; });
  return indices;
}

}  // namespace

void LocalTasks::index() {
  by_number = ordered(tasks, &OwnTask::task);

  std::vector<int32_t> numbers;
  numbers.reserve(tasks.size());
  for (const OwnTask& t : tasks) numbers.push_back(t.place.file);
  std::ranges::sort(numbers);
  files.clear();
  for (const int32_t number : numbers) {
    if (files.empty() || files.back().number != number) files.emplace_back().number = number;
    ++files.back().local_tasks;
  }
  for (OwnTask& t : tasks)
    t.file = static_cast<size_t>(std::ranges::lower_bound(files, t.place.file, {}, &OwnFile::number) -
                                 files.begin());
}

void LocalTasks::find_rows(Comm& comm, int32_t nfiles, std::span<const FileShare> own,
                           MetadataPartition& slices, std::vector<Segment>& segments,
                           const std::function<void(int32_t, int64_t)>& check) {
  std::vector<int64_t> first_rows(files.size());
  size_t next = 0;
  for_each_file(comm, nfiles, own, [&](int32_t file, int64_t count, int64_t first_row) {
    check(file, count);
    slices.align_to_file(first_row, count);
    add_segment(segments, slices, file, count, first_row);
    if (next == files.size() || files[next].number != file) return;
    files[next].file_tasks = count;
    first_rows[next++] = first_row;
  });
  for (OwnTask& t : tasks) {
    t.file_tasks = files[t.file].file_tasks;
    t.row = first_rows[t.file] + t.place.local_rank;
  }
  by_row = ordered(tasks, &OwnTask::row);
}

size_t LocalTasks::find(int64_t task, const std::string& path) const {
  const auto at = std::ranges::lower_bound(by_number, task, {}, [this](size_t i) { return tasks[i].task; });
  if (at == by_number.end() || tasks[*at].task != task)
    throw Error(Code::out_of_range, "'" + path + "': task " + std::to_string(task) + " is not one of the " +
                                        std::to_string(tasks.size()) + " tasks of this process");
  return *at;
}

}  // namespace sheaf::multifile

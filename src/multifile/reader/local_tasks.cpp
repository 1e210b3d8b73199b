#include "multifile/reader/local_tasks.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace sheaf::multifile {

void LocalTasks::index() {
  by_number.resize(tasks.size());
  std::iota(by_number.begin(), by_number.end(), 0);
  std::ranges::stable_sort(by_number, {}, [this](size_t i) { return tasks[i].task; });

  std::vector<int32_t> numbers;
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
  by_row.resize(tasks.size());
  std::iota(by_row.begin(), by_row.end(), 0);
  std::ranges::stable_sort(by_row, {}, [this](size_t i) { return tasks[i].row; });
}

size_t LocalTasks::find(int64_t task, const std::string& path) const {
  const auto at = std::ranges::lower_bound(by_number, task, {}, [this](size_t i) { return tasks[i].task; });
  if (at == by_number.end() || tasks[*at].task != task)
    throw Error(Code::out_of_range, "'" + path + "': task " + std::to_string(task) + " is not one of the " +
                                        std::to_string(tasks.size()) + " tasks of this process");
  return *at;
}

}  // namespace sheaf::multifile

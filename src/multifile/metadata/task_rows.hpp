// multifile/metadata/task_rows: iterates over the tasks of a physical file or multifile without holding all
// its tables in memory. Access in task order reads everything once; random access begins with small reads. An
// object holds a few MiB, and the files must outlive it. Only one thread at a time may use an object; several
// threads may use one each.
#pragma once

#include <memory>
#include <vector>

#include "base/export.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

class FileRows {
 public:
  // `number` is the number of the file in its set. The places of the rows contain it.
  explicit FileRows(const PhysicalFile& file, int32_t number = 0) : file_(&file) { row_.place.file = number; }

  // Returns the row of a task. The reference is valid until the next call; a copy of the row stays valid.
  // Throws what reading throws.
  const TaskRow& at(int64_t local_rank);

 private:
  const PhysicalFile* file_;
  std::shared_ptr<const RowSlice> slice_;
  int64_t tasks_at_once_ = 0;
  TaskRow row_;
};

class SHEAF_EXPORT TaskRows {
 public:
  explicit TaskRows(const Multifile& multifile);

  // Like FileRows::at(), for a task of the multifile.
  const TaskRow& at(int64_t task);

 private:
  // Rows of consecutive tasks of a set, with the sizes of their blocks.
  struct RowBatch {
    int64_t first = 0;
    std::vector<TaskRow> rows;
    std::vector<int64_t> sizes;
  };
  bool gather(int64_t first, int64_t tasks);

  const Multifile* multifile_;
  std::vector<FileRows> files_;      // one for a single file; one per file for a set held in memory
  std::shared_ptr<RowBatch> batch_;  // of other sets
  int64_t tasks_at_once_ = 0;
  TaskRow row_;
};

// Calls visit(task, row) for tasks [first, end) of a multifile, in order.
template <class Visit>
void for_each_row(const Multifile& multifile, int64_t first, int64_t end, Visit visit) {
  TaskRows rows(multifile);
  for (int64_t task = first; task < end; ++task) visit(task, rows.at(task));
}
template <class Visit>
void for_each_row(const Multifile& multifile, Visit visit) {
  for_each_row(multifile, 0, multifile.ntasks(), visit);
}

}  // namespace sheaf::multifile

// tools/split: the streams of a multifile as task-local files.
//
// A plain multifile gives one file per task, a key-value multifile one per task and key with the joined
// values. All files appear under their final names together, at the end; a failure leaves none. Memory: the
// metadata, and the names of the outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

struct SplitRequest {
  std::string prefix{};          // of the names of the outputs
  int digits = 5;                // of the number behind the prefix, at least
  bool global_ranks = false;     // number the outputs by the stored global rank instead of the task
  std::vector<int64_t> tasks{};  // the tasks wanted; none: all
  bool replace = false;          // existing files
};

// Final name of the output for a task; of a key-value multifile: the part in front of "_KEY".
std::string split_name(const SplitRequest& request, int64_t task, const TaskRow& row);
// Name of the output for one key of a task. Keys are printed as signed numbers.
std::string split_name(const std::string& name_of_task, uint64_t key);

// Throws out_of_range for a task that there is not, invalid_argument if an output exists or two tasks would
// share one, damaged for bad key-value records.
SHEAF_EXPORT void split(Store& store, const Multifile& multifile, const SplitRequest& request,
                        WorkProgress& progress);

}  // namespace sheaf

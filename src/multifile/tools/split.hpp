// multifile/tools/split: writes the streams of a multifile to task-local files.
//
// A plain multifile yields one file per task. A key-value multifile yields one file per task and key, with
// the concatenated values. All files get their final names together at the end (multifile/create/output_set);
// a failure leaves no new files. Holds the metadata and the names of the outputs in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

struct SplitRequest {
  std::string prefix{};          // prefix of output names
  int digits = 5;                // minimum digits of the number after the prefix
  bool global_ranks = false;     // number the outputs by the stored global rank instead of the task
  std::vector<int64_t> tasks{};  // tasks to write; empty: all
  bool replace = false;          // replace existing files
};

// Returns the final name of the output for a task; for a key-value multifile, the part before "_KEY".
std::string split_name(const SplitRequest& request, int64_t task, const TaskRow& row);
// Returns the name of the output for one key of a task. Keys are printed as signed numbers.
std::string split_name(const std::string& name_of_task, uint64_t key);

// Writes the chosen streams of `multifile` to files. Throws `out_of_range` for a task that does not exist.
// Throws `invalid_argument` if an output exists and must not be replaced, or if two tasks would share an
// output. Throws `damaged` for invalid key-value records.
SHEAF_EXPORT void split(Store& store, const Multifile& multifile, const SplitRequest& request,
                        WorkProgress& progress);

}  // namespace sheaf::multifile

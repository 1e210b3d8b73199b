// multifile/tools/split_keyval: writes the records of one task of a key-value multifile to one file per key,
// for multifile/tools/split.
#pragma once

#include "multifile/create/output_set.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

// Adds one output per key of a task of `file`, in the order of first appearance, with the name
// split_name(name, key).
void split_keyval(const PhysicalFile& file, int64_t task, const TaskRow& row, const std::string& name,
                  OutputSet& outputs, WorkProgress& progress);

}  // namespace sheaf::multifile

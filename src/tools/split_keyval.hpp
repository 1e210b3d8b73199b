// tools/split_keyval: the records of one task of a key-value multifile as one file per key; a part of
// split.
#pragma once

#include "creation/output_set.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// Adds one output per key of a task of `file`, in the order of first appearance, named split_name(name, key).
void split_keyval(const PhysicalFile& file, int64_t task, const TaskRow& row, const std::string& name,
                  OutputSet& outputs, WorkProgress& progress);

}  // namespace sheaf

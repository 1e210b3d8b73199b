// keyval/keyval_check: scans of whole key-value multifiles.
#pragma once

#include <functional>

#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "keyval/keyval_scan.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// Calls visit for every record of a task, whose row is `row`; does nothing for a multifile without records.
// Throws damaged.
SHEAF_EXPORT void for_each_record(const Multifile& multifile, int64_t task, const TaskRow& row,
                                  const std::function<void(const KeyvalRecord&)>& visit);

// Throws damaged, naming task and offset, for the first bad record of any task. Progress: may end it.
SHEAF_EXPORT void check_keyval_records(const Multifile& multifile, WorkProgress& progress);

inline bool has_records(const Multifile& multifile) {
  return multifile.files.front().header.keyval() == format::KeyvalMode::inline_;
}

}  // namespace sheaf

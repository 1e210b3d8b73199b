// multifile/keyval/keyval_check: scans of whole key-value multifiles.
#pragma once

#include <functional>

#include "base/export.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/keyval/keyval_scan.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

// Calls `visit` for every record of `task`. `row` is the metadata of that task. Does nothing if the multifile
// has no key-value records. Throws `damaged` at the first bad record.
SHEAF_EXPORT void for_each_record(const Multifile& multifile, int64_t task, const TaskRow& row,
                                  const std::function<void(const KeyvalRecord&)>& visit);

// Checks all records of all tasks. Throws `damaged` for the first bad record, naming task and offset. An
// exception from `progress` ends the check.
SHEAF_EXPORT void check_keyval_records(const Multifile& multifile, WorkProgress& progress);

inline bool has_records(const Multifile& multifile) {
  return multifile.files.front().header.keyval() == format::KeyvalMode::inline_;
}

}  // namespace sheaf::multifile

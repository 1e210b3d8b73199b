// multifile/metadata/task_names: reads the optional names of the tasks of a multifile, and encodes them for
// the trailer (docs/format.md, section 14.5).
#pragma once

#include <vector>

#include "base/export.hpp"
#include "format/container.hpp"
#include "multifile/metadata/physical_file.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

// Kinds of the trailer sections with the members of TaskNames.
inline constexpr format::SectionKind names_section{5}, taken_section{6};

struct TaskNames {
  std::vector<format::TaskName> names;       // names in task order; empty: tasks have no names
  std::vector<format::Identity> taken = {};  // containers merged into the multifile
};

// Reads all names into memory. Throws damaged, and what reading throws.
SHEAF_EXPORT TaskNames read_task_names(const Multifile& multifile);

// Returns the sections with names from the trailer of `file`, for rewriting that trailer. Returns none if the
// trailer has none.
std::vector<MoreSection> read_name_sections(File& file, const FileChecks& checks);

// Returns the trailer sections for `names`; omits empty ones.
std::vector<MoreSection> sections_of(const TaskNames& names);

}  // namespace sheaf::multifile

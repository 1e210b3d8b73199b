// metadata/task_names: the names of the tasks of a multifile, if it has some (docs/format.md, section 14.5).
#pragma once

#include <vector>

#include "base/export.hpp"
#include "format/container.hpp"
#include "metadata/physical_file.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

// Sections of the trailer.
inline constexpr format::SectionKind names_section{5}, taken_section{6};

struct TaskNames {
  std::vector<format::TaskName> names;       // of all tasks, in their order; empty: they have none
  std::vector<format::Identity> taken = {};  // containers that were taken in
};

// Holds the names. Throws damaged, and what reading throws.
SHEAF_EXPORT TaskNames read_task_names(const Multifile& multifile);

// The sections that say them as they are in the trailer of `file`, for who writes that anew; none: there are
// none.
std::vector<MoreSection> read_name_sections(File& file, const FileChecks& checks);

// The sections of a trailer that say the same; none for what there is none of.
std::vector<MoreSection> sections_of(const TaskNames& names);

}  // namespace sheaf

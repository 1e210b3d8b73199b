// metadata/task_names: the names of the tasks of a multifile, if it has some (docs/format.md, section 14.5).
#pragma once

#include <optional>
#include <vector>

#include "base/export.hpp"
#include "format/container.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// Of all tasks, in their order; empty: they have none. Holds the names. Throws damaged, and what reading
// throws.
SHEAF_EXPORT std::vector<format::TaskName> read_task_names(const Multifile& multifile);

// Writes the names, all but their entry in the table, which it completes: `trailer` was planned for them.
void write_task_names(File& file, format::Trailer& trailer, std::span<const std::byte> names);

}  // namespace sheaf

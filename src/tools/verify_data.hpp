// tools/verify_data: the part of verify that reads the data.
#pragma once

#include <functional>
#include <string>

#include "metadata/physical_file.hpp"
#include "tools/verify.hpp"

namespace sheaf {

using Say = std::function<void(FileState state, const std::string& message)>;

// Reads all recorded bytes of a physical file and compares them with their checksums, if there are any, on
// all cores: tasks are dealt out in shares of neighbours. What is wrong with them is said, one at a time.
// Throws what else goes wrong. Holds a few MiB per core.
void check_data(const PhysicalFile& file, WorkProgress& progress, const Say& say);

// Decodes every frame of a task of a compressed file, and throws what is wrong with the first that is
// damaged. Holds the largest frame three times.
void check_frames(const Multifile& multifile, int64_t task, const TaskRow& row);

}  // namespace sheaf

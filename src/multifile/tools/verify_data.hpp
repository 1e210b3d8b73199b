// multifile/tools/verify_data: checks the data of a multifile, for multifile/tools/verify.
#pragma once

#include <functional>
#include <string>

#include "multifile/metadata/physical_file.hpp"
#include "multifile/tools/verify.hpp"

namespace sheaf::multifile {

using Say = std::function<void(FileState state, const std::string& message)>;

// Reads all recorded bytes of a physical file and compares them with their checksums, if any. Uses all cores;
// each thread takes shares of neighbouring tasks. Calls `say` for each defect, from one thread at a time.
// Throws errors of the metadata, and what `progress` throws. Holds a few MiB per core.
void check_data(const PhysicalFile& file, WorkProgress& progress, const Say& say);

// Decodes every frame of a task of a compressed file. Throws the error of the first damaged frame. Takes
// memory for three times the largest frame.
void check_frames(const Multifile& multifile, int64_t task, const TaskRow& row);

}  // namespace sheaf::multifile

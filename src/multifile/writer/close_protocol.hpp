// multifile/writer/close_protocol: closes a multifile that was written.
//
// In every file, the data are written first, then the block table and the mapping, then the pointer, which
// makes the file complete. File 0, which all readers open first, is completed after all other files. After
// each step in which a process can fail, all processes agree.
#pragma once

#include "multifile/writer/task_streams.hpp"

namespace sheaf::multifile {

// Closes the multifile. Collective. Throws on every process alike, also after a failed append() on any
// process. After an error the files stay unclosed.
void close_set(TaskStreams& streams);

}  // namespace sheaf::multifile

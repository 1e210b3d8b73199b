// sfio/session/collective: collective writes and reads of striped files by all compute tasks, each with its
// own blocks.
#pragma once

#include <span>

#include "comm/comm.hpp"
#include "sfio/striped_file.hpp"

namespace sheaf::sfio {

// One task's part of the call.
struct CollectiveShare {
  StripedFile* file = nullptr;  // null only if `wrong` is set
  std::vector<Block> blocks;    // may be empty
  std::optional<Error> wrong;   // error in this task's arguments
};

// Writes or reads the parts of all tasks. Collective over `comm`, the compute tasks of a session. Detects
// argument errors of any task before any bytes move. Written bytes can be read by every task afterwards.
// Where blocks of several tasks overlap, either may win. Returns the number of bytes moved for this task: the
// total length of its blocks. A read of a single block counts only the bytes before the end of the file; it
// sets the remaining bytes to zero. If any part fails, throws on all tasks as agree() does, after all other
// parts have ended.
SHEAF_EXPORT int64_t transfer_together(Comm& comm, Direction direction, const CollectiveShare& part);

}  // namespace sheaf::sfio

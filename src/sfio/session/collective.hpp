// sfio/session/collective: collective writes and reads of striped files by all compute tasks, each with its
// own blocks.
#pragma once

#include <span>

#include "comm/comm.hpp"
#include "sfio/striped_file.hpp"

namespace sheaf::sfio {

// One task's part of the call.
struct Part {
  StripedFile* file = nullptr;  // null only if `wrong` is set
  std::vector<Block> blocks;    // may be empty
  std::optional<Error> wrong;   // error in this task's arguments
};

// Collective over `comm`, the compute tasks of a session. Argument errors of any task are detected before any
// bytes move. Written bytes can be read by every task afterwards. Where blocks of several tasks overlap,
// either may win. Returns the bytes moved, which is the sum of all blocks. A read of a single block counts
// only its bytes before the end of the file; the remaining ones are set to zero. If any part fails, throws on
// all tasks as agree() does, after all other parts have ended.
SHEAF_EXPORT int64_t transfer_together(Comm& comm, Direction direction, const Part& part);

}  // namespace sheaf::sfio

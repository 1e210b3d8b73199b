// stripedfile/session/collective: all compute tasks write or read striped files together, each blocks of its
// own.
#pragma once

#include <span>

#include "comm/comm.hpp"
#include "stripedfile/striped_file.hpp"

namespace sheaf::sfio {

// What a task brings to the call.
struct Part {
  StripedFile* file = nullptr;  // null only if something is wrong
  std::vector<Block> blocks;    // may be none
  std::optional<Error> wrong;   // with this task's arguments
};

// Collective over `comm`, the compute tasks of a session. What is wrong with the arguments of a task is found
// before any bytes move. What is written can be read by every task afterwards; where blocks
// of several tasks overlap, either may win. Returns the bytes moved: the sum of the blocks, of a single block
// that is read only what lies in front of the end of the file (the rest is set to zero). Throws on all tasks
// if any part fails, as agree() does, after everything else has ended.
SHEAF_EXPORT int64_t transfer_together(Comm& comm, Direction direction, const Part& part);

}  // namespace sheaf::sfio

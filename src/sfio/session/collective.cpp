#include "sfio/session/collective.hpp"

#include "comm/agree.hpp"

namespace sheaf::sfio {

int64_t transfer_together(Comm& comm, Direction direction, const CollectiveShare& part) {
  agree(comm, part.wrong ? part.wrong : attempt([&] { part.file->check(part.blocks); }));
  int64_t moved = 0;
  agree(comm, attempt([&] { moved = part.file->transfer(direction, part.blocks); }));
  return moved;
}

}  // namespace sheaf::sfio

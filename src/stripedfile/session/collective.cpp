#include "stripedfile/session/collective.hpp"

#include "comm/agree.hpp"

namespace sheaf::sfio {

namespace {

int64_t transfer(StripedFile& file, Direction direction, std::span<const Block> blocks) {
  const std::lock_guard hold(file.link().lock());
  const auto operation = file.start(direction, blocks);
  operation->finish();
  if (operation->missing() > 0 && blocks.size() == 1) return file.bytes_there(blocks[0]);
  int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

}  // namespace

int64_t transfer_together(Comm& comm, Direction direction, const Part& part) {
  agree(comm, part.wrong ? part.wrong : attempt([&] { part.file->check(part.blocks); }));
  int64_t moved = 0;
  agree(comm, attempt([&] { moved = transfer(*part.file, direction, part.blocks); }));
  return moved;
}

}  // namespace sheaf::sfio

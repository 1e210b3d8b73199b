#include "stripedfile/session/collective.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "stripedfile/flow.hpp"
#include "stripedfile/service/constants.hpp"

namespace sheaf::sfio {

namespace {

// Throws on all tasks if something is wrong on any.
Flow agreed_flow(Comm& comm, std::span<const int64_t> mine, const std::optional<Error>& wrong) {
  const auto listeners = std::ssize(mine);
  if (comm.size() * listeners > most_pairs) {
    agree(comm, wrong);
    return turns(comm.size(), static_cast<int>(listeners), comm.rank());
  }
  std::vector<int64_t> loads(static_cast<size_t>(comm.size() * listeners + 1));
  std::ranges::copy(mine, loads.begin() + comm.rank() * listeners);
  loads.back() = wrong ? 1 : 0;
  comm.all_sum(loads);
  if (loads.back() > 0) agree(comm, wrong);
  return flow_of(std::span(loads).first(loads.size() - 1), static_cast<int>(listeners), comm.rank());
}

int64_t transfer(StripedFile& file, Direction direction, std::span<const Block> blocks, const Flow& flow) {
  const std::lock_guard hold(file.link().lock());
  const auto operation = file.start(direction, blocks, flow);
  operation->finish();
  if (operation->missing() > 0 && blocks.size() == 1) return file.bytes_there(blocks[0]);
  int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

}  // namespace

int64_t transfer_together(Link& link, Comm& comm, Direction direction, const Part& part) {
  std::vector<int64_t> loads(link.listeners().size());
  std::optional<Error> wrong = part.wrong;
  if (!wrong) wrong = attempt([&] { part.file->add_loads(part.blocks, loads); });
  const Flow flow = agreed_flow(comm, loads, wrong);
  int64_t moved = 0;
  agree(comm, attempt([&] { moved = transfer(*part.file, direction, part.blocks, flow); }));
  return moved;
}

}  // namespace sheaf::sfio

#include "sharedfile/transfer_hints.hpp"

#include <algorithm>
#include <climits>

#include "comm/agree.hpp"
#include "exchange/transfer/throttle.hpp"

namespace sheaf {

namespace {

using exchange::CollectiveOptions;
using exchange::Sieving;

Sieving sieving(Choice choice) {
  return choice == Choice::enable    ? Sieving::always
         : choice == Choice::disable ? Sieving::never
                                     : Sieving::automatic;
}
CollectiveOptions::Way way(Choice choice) {
  return choice == Choice::enable    ? CollectiveOptions::Way::always
         : choice == Choice::disable ? CollectiveOptions::Way::never
                                     : CollectiveOptions::Way::automatic;
}

}  // namespace

exchange::IndependentOptions independent_options(const Hints& hints, bool writes) {
  return {.sieving = sieving(writes ? hints.sieve_write : hints.sieve_read),
          .buffer = writes ? hints.sieve_write_size : hints.sieve_read_size};
}

exchange::CollectiveOptions collective_options(const Hints& hints, bool writes) {
  CollectiveOptions how;
  how.exchange = way(writes ? hints.collective_write : hints.collective_read);
  how.independent = independent_options(hints, writes);
  how.aggregators = hints.aggregators;
  how.stripes = hints.striping_factor;
  how.buffer = hints.buffer_size;
  how.shared = hints.shared;
  how.overlap = hints.overlap;
  how.reuse = hints.reuse;
  return how;
}

void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem) {
  std::shared_ptr<WriteSlots> slots;
  const auto count = static_cast<int32_t>(std::min<int64_t>(hints.io_tasks, INT32_MAX));
  attempt(problem, [&] { slots = share_slots(comm, store, count); });
  if (file) file = throttled(std::move(file), std::move(slots));
}

}  // namespace sheaf

#include "mpiio/file/transfer_hints.hpp"

#include <algorithm>
#include <climits>

#include "comm/agree.hpp"
#include "exchange/transfer/throttle.hpp"

namespace sheaf::mpiio {

namespace {

// Converts a choice to the type `Wanted`: Sieving, or CollectiveOptions::Buffering.
template <class Wanted>
Wanted wanted(Choice choice) {
  return choice == Choice::enabled    ? Wanted::enabled
         : choice == Choice::disabled ? Wanted::disabled
                                      : Wanted::automatic;
}

}  // namespace

exchange::IndependentOptions independent_options(const Hints& hints, bool writes) {
  return {.sieving = wanted<exchange::Sieving>(writes ? hints.sieve_write : hints.sieve_read),
          .buffer = writes ? hints.sieve_write_size : hints.sieve_read_size};
}

exchange::CollectiveOptions collective_options(const Hints& hints, bool writes) {
  return {.exchange = wanted<exchange::CollectiveOptions::Buffering>(writes ? hints.collective_write
                                                                            : hints.collective_read),
          .independent = independent_options(hints, writes),
          .aggregators = hints.aggregators,
          .stripes = hints.striping_factor,
          .buffer = hints.buffer_size,
          .shared = hints.shared,
          .overlap = hints.overlap,
          .reuse = hints.reuse};
}

Hints resolved(const Hints& hints, const exchange::CollectiveExecutor::Chosen& chosen, int64_t block,
               FileSystem kind) {
  Hints result = hints;
  if (result.block_size == 0) result.block_size = block;
  if (result.aggregators == 0) result.aggregators = chosen.aggregators;
  if (result.buffer_size == 0) result.buffer_size = chosen.window;
  result.file_system = name_of(kind);
  for (const int64_t task : chosen.tasks)
    result.aggregator_list.append(result.aggregator_list.empty() ? "" : " ").append(std::to_string(task));
  return result;
}

void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem) {
  std::shared_ptr<WriteSlots> slots;
  const auto count = static_cast<int32_t>(std::min<int64_t>(hints.io_tasks, INT32_MAX));
  attempt(problem, [&] { slots = exchange::share_slots(comm, store, count); });
  if (file) file = throttled(std::move(file), std::move(slots));
}

}  // namespace sheaf::mpiio

// sharedfile/transfer_hints: what the hints of a file say of its transfers, in the terms of src/exchange.
#pragma once

#include <memory>
#include <optional>

#include "comm/comm.hpp"
#include "exchange/collective.hpp"
#include "sharedfile/hints.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Local. Whether and how a task's own transfers sieve.
exchange::IndependentOptions independent_options(const Hints& hints, bool writes);

// Local. The same on all tasks whose hints are the same. The size of blocks and what depends on hosts is the
// file's to fill in.
exchange::CollectiveOptions collective_options(const Hints& hints, bool writes);

// Local. `hints` with what is used for those that leave a choice: `chosen`, and the alignment `block`.
Hints resolved(const Hints& hints, const exchange::Collective::Chosen& chosen, int64_t block,
               FileSystem kind);

// Collective over `comm`, where the hints limit the tasks that transfer at once: `file`, if this task has
// opened one, becomes one that keeps to it. Without slots on any task `problem` says so there. Before the
// file is wrapped for several hosts: the exchange has to see that it is (exchange/transfer/hosts_file.hpp).
void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem);

}  // namespace sheaf

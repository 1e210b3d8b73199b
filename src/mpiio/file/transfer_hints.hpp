// mpiio/file/transfer_hints: translates the hints of a file into options of src/exchange.
#pragma once

#include <memory>
#include <optional>

#include "comm/comm.hpp"
#include "exchange/collective.hpp"
#include "mpiio/file/hints.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Local. Returns whether and how independent transfers sieve.
exchange::IndependentOptions independent_options(const Hints& hints, bool writes);

// Local. Returns the same on all tasks with equal hints. The caller fills in the block size and the options
// that depend on hosts.
exchange::CollectiveOptions collective_options(const Hints& hints, bool writes);

// Local. Returns `hints` with automatic values replaced by the `chosen` ones and the alignment `block`.
Hints resolved(const Hints& hints, const exchange::Collective::Chosen& chosen, int64_t block,
               FileSystem kind);

// Collective over `comm` if the hints limit the tasks that transfer at once. Replaces `file`, if this task
// has opened one, by a file that keeps the limit. If a task cannot get the slots, sets `problem` there. Must
// be called before the file is wrapped for several hosts, since the exchange has to recognize that wrapper
// (exchange/transfer/non_coherent_file.hpp).
void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem);

}  // namespace sheaf

// mpiio/file/transfer_hints: translates the hints of a file into options of src/exchange.
#pragma once

#include <memory>
#include <optional>

#include "comm/comm.hpp"
#include "exchange/collective_executor.hpp"
#include "mpiio/file/hints.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

// Local. Returns the options of independent transfers, in particular whether they sieve.
exchange::IndependentOptions independent_options(const Hints& hints, bool writes);

// Local. Returns the options of collective transfers; they are equal on all tasks with equal hints. The
// caller sets the block size and the options that depend on hosts.
exchange::CollectiveOptions collective_options(const Hints& hints, bool writes);

// Local. Returns `hints` with automatic values replaced by the `chosen` ones and the alignment `block`.
Hints resolved(const Hints& hints, const exchange::CollectiveExecutor::Chosen& chosen, int64_t block,
               FileSystem kind);

// Replaces `file` by a decorator that lets at most the number of tasks transfer at once that the hints allow.
// Has no effect without such a limit, or if this task has not opened a file. If this task cannot acquire the
// slots, sets `problem`. Collective over `comm` if the hints set a limit. Must be called before
// AcrossHosts::wrap(), because the exchange must find that decorator outermost
// (exchange/transfer/non_coherent_file.hpp).
void limit_transfers(Comm& comm, Store& store, const Hints& hints, std::shared_ptr<File>& file,
                     std::optional<Error>& problem);

}  // namespace sheaf::mpiio

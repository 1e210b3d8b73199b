// sharedfile/transfer_hints: what the hints of a file say of its transfers, in the terms of src/exchange.
#pragma once

#include "exchange/collective.hpp"
#include "sharedfile/hints.hpp"

namespace sheaf {

// Local. Whether and how a task's own transfers sieve.
exchange::Alone alone(const Hints& hints, bool writes);

// Local. The same on all tasks whose hints are the same. The size of blocks and what depends on hosts is the
// file's to fill in.
exchange::Together together(const Hints& hints, bool writes);

}  // namespace sheaf

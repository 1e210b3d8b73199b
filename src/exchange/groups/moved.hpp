// exchange/groups/moved: transfers of a group through its aggregator, the first task, where the program
// brings the bytes there (exchange/groups/mover).
#pragma once

#include <optional>

#include "base/error.hpp"
#include "exchange/groups/mover.hpp"
#include "exchange/pieces/access.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

// Collective over the members; the memory of `access` is contiguous. `pieces`: the most of any task of the
// physical file; one piece of every member moves per step. Only the aggregator touches the file. Nothing is
// thrown, and a failure does not end the steps, so that nobody waits in vain; returns what went wrong here.
std::optional<Error> write_moved(File& file, const Access& access, Mover& mover,
                                 const Mover::Members& members, bool is_aggregator, int64_t pieces);
std::optional<Error> read_moved(File& file, const Access& access, Mover& mover, const Mover::Members& members,
                                bool is_aggregator, int64_t pieces);

}  // namespace sheaf::exchange

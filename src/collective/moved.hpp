// collective/moved: transfers of a group through its collector, the first task, where the program brings the
// bytes there (collective/mover).
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "collective/mover.hpp"
#include "exchange/pieces/access_list.hpp"
#include "storage/store.hpp"

namespace sheaf {

// Collective over the members. `steps`: the most extents of any task of the physical file; one extent of
// every member moves per step. Only the collector touches the file. Nothing is thrown, and a failure does not
// end the steps, so that nobody waits in vain; returns what went wrong here.
std::optional<Error> write_moved(File& file, const exchange::Placed<const std::byte>& mine, Mover& mover,
                                 const Mover::Members& members, bool is_collector, int64_t steps);
std::optional<Error> read_moved(File& file, const exchange::Placed<std::byte>& mine, Mover& mover,
                                const Mover::Members& members, bool is_collector, int64_t steps);

}  // namespace sheaf

// simulation/taping_comm: a Comm that records the collective calls of its task on a tape. Groups that are
// split from it record, too.
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "simulation/tape.hpp"

namespace sheaf::simulation {

// Collective over `comm`. `task`: the number of this task on the tape. The tape gets `scale` times the bytes
// of each exchange, and must outlive the Comm.
std::unique_ptr<Comm> taping_comm(std::unique_ptr<Comm> comm, SimulationTape& tape, int task,
                                  int64_t scale = 1);

}  // namespace sheaf::simulation

// comm_teams/thread_comm: tasks are threads of one process.
//
// One thread makes a ThreadTeam and hands it to the others; each joins with a rank of its own. Every
// collective is one meeting: tasks publish pointers to their arguments, the last to arrive moves the data
// straight between the memory of those who wait, then wakes them. One wake-up per collective; the bytes are
// copied once. Who waits, sleeps (after a few tries), so teams may be larger than the machine.
//
// A meeting whose members made different calls, or the same with different roots or lengths, throws Error
// mismatch on all of them. A member that never comes makes the others wait for ever, as everywhere.
#pragma once

#include <cstdint>
#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// A team of `size` tasks, to be joined by thread_comm with every rank 0..size-1 once. Throws invalid_argument
// unless size > 0.
SHEAF_EXPORT std::shared_ptr<ThreadTeam> make_thread_team(int size);

// Local: this task's end. The team lives as long as its Comms. Threads may change between two calls on a
// Comm.
//
// split_by_node() gives the whole group, or, where the environment has SHEAF_TOPOLOGY=node=K, every K
// consecutive tasks of `team`, also on groups split from it.
SHEAF_EXPORT std::unique_ptr<Comm> thread_comm(std::shared_ptr<ThreadTeam> team, int rank);

SHEAF_EXPORT int thread_team_size(const ThreadTeam& team);  // threads

}  // namespace sheaf

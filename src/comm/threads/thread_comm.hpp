// comm/threads/thread_comm: a Comm whose tasks are threads of one process.
//
// One thread creates a ThreadTeam and passes it to the other threads; each joins with its own rank. Every
// collective call is one barrier. Tasks publish pointers to their arguments. The last task to arrive copies
// the data directly between the memory of the waiting tasks, then wakes them. A call thus costs one wake-up
// and one copy of the bytes. Waiting tasks sleep after a few polls, so a team may have more threads than the
// machine has cores.
//
// If members make different calls, or the same call with different roots or lengths, all of them throw Error
// mismatch. If a member never arrives, the others wait forever.
#pragma once

#include <cstdint>
#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Creates a team of `size` tasks. Each rank 0..size-1 must be joined once through thread_comm(). Throws
// invalid_argument unless size > 0.
SHEAF_EXPORT std::shared_ptr<ThreadTeam> make_thread_team(int size);

// Local. Creates this task's handle, which keeps the team alive. Different threads may make consecutive calls
// on one Comm.
//
// split_by_node() returns the whole group. With SHEAF_TOPOLOGY=node=K in the environment, every K consecutive
// tasks of `team` form a host; groups split from the result keep this assignment.
SHEAF_EXPORT std::unique_ptr<Comm> thread_comm(std::shared_ptr<ThreadTeam> team, int rank);

SHEAF_EXPORT int thread_team_size(const ThreadTeam& team);  // number of threads

}  // namespace sheaf

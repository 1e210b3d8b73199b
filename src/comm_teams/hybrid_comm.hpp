// comm_teams/hybrid_comm: tasks are the threads of several processes: rank = process * threads + thread.
//
// Joins a Comm over processes and one over the threads of each. Only thread 0 of a process calls the former,
// so for MPI MPI_THREAD_FUNNELED is enough if thread 0 is the main thread; a collective costs that of the
// processes and a few meetings of the threads.
//
// Groups that consist of whole processes in rank order, and groups within one process, are joined in the same
// way. Other groups, where a process would take part in several at once, go through task 0
// (comm_teams/star_comm), and so do from then on the calls of the group they were split from.
#pragma once

#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Collective over all tasks. processes: on thread 0 of each process the group of these threads, elsewhere
// null. threads: a Comm of its own over the threads of this process. Throws mismatch on all tasks if
// processes have different numbers of threads. To be destroyed on the thread that made it.
//
// split_by_node() groups whole processes, as processes->split_by_node() does.
SHEAF_EXPORT std::unique_ptr<Comm> hybrid_comm(std::unique_ptr<Comm> processes,
                                               std::unique_ptr<Comm> threads);

}  // namespace sheaf

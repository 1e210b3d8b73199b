// comm/threads/hybrid_comm: a Comm whose tasks are the threads of several processes: rank = process * threads
// + thread.
//
// Combines a Comm over processes with one over the threads of each. Only thread 0 of a process uses the Comm
// over processes, so MPI_THREAD_FUNNELED suffices for MPI if thread 0 is the main thread. A collective call
// costs one call over the processes and a few barriers of the threads.
//
// Groups of whole processes in rank order, and groups within one process, are combined in the same way. After
// any other split, a process may take part in several groups at once. The calls of such groups, and all later
// calls of the group that was split, go through task 0 (comm/threads/star_comm).
#pragma once

#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Collective over all tasks. `processes`: on thread 0 of each process, the group of all threads 0; null on
// other threads. `threads`: a Comm over the threads of this process, used by nothing else. Throws mismatch on
// all tasks if the processes have different numbers of threads. Must be destroyed on the thread that created
// it.
//
// split_by_node() groups whole processes, as processes->split_by_node() does.
SHEAF_EXPORT std::unique_ptr<Comm> hybrid_comm(std::unique_ptr<Comm> processes,
                                               std::unique_ptr<Comm> threads);

}  // namespace sheaf

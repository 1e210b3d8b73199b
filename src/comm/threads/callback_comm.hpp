// comm/threads/callback_comm: a Comm whose tasks communicate through callbacks of the program
// (sion_generic.h).
//
// The callbacks only support transfers between a root and its group, so everything goes through task 0
// (comm/threads/star_comm): a collective call is a gather, a scatter and an agreement, and task 0 holds the
// contributions of all tasks. Programs with large groups should use MPI.
//
// Only barrier, bcastr, gatherr and scatterr are called, with 64-bit numbers. The tasks first exchange the
// lengths of their messages and the first bytes, then transfer at most 64 KiB per task in each round. The
// library avoids gathervr and scattervr: SIONlib calls them in mapped opens only, and existing programs have
// faults in them. It avoids byte elements, because existing programs do not support them. A group of one task
// calls only create_group and free_group. Every message has a checksum, so a message that a callback loses or
// changes is an error on all tasks.
//
// If there is an allgather callback, no other is called: every task gets all contributions and computes the
// result itself. A collective call then takes two callbacks instead of seven, and O(tasks) bytes on each
// task.
//
// A failing callback (one that does not return 0) must not block the other tasks. The task completes the
// current round in step with them. At the end of the round, the tasks agree on whether any callback has
// failed, and either none throws or all do: Error io, "task R: the gatherr callback returned N". After that
// the group is dead: every later call throws at once on all tasks, without a callback. A failure of the
// agreement itself is reported in the next round. If a callback fails before it has synchronized with the
// other tasks, they wait forever inside their callbacks; the library cannot prevent that.
#pragma once

#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// The callbacks of the generic interface. `dtype` is always `int64`.
struct CommCallbacks {
  int (*barrier)(void* group) = nullptr;
  int (*bcastr)(void* data, void* group, int dtype, int nelem, int root) = nullptr;
  int (*gatherr)(void* in, void* out, void* group, int dtype, int nelem, int root) = nullptr;
  int (*gathervr)(void* in, void* out, void* group, int dtype, int* counts, int nelem, int root) = nullptr;
  int (*scatterr)(void* in, void* out, void* group, int dtype, int nelem, int root) = nullptr;
  int (*scattervr)(void* out, void* in, void* group, int dtype, int* counts, int nelem, int root) = nullptr;
  int (*create_group)(void** local, void* group, int rank, int size, int local_rank, int local_size,
                      int filenumber, int numfiles) = nullptr;
  int (*free_group)(void* local) = nullptr;
  int (*allgather)(const void* mine, void* all, void* group, long long nbytes) = nullptr;  // may be null

  static constexpr int int64 = 11;  // _SION_INT64
};

// Creates the Comm of `group`, a group of the program in which this task is `rank` of `size`. Local. The
// group must live as long as the Comm and all groups split from it. Throws invalid_argument for a rank that
// is not in the group.
//
// split_by_node() groups by host name. If the environment of task 0 has SHEAF_TOPOLOGY=node=K, it groups
// every K consecutive tasks. Messages are limited to 2 GiB per collective call.
SHEAF_EXPORT std::unique_ptr<Comm> callback_comm(const CommCallbacks& callbacks, void* group, int rank,
                                                 int size);

// The physical file of a task, and its rank among the tasks of that file, as set by the program or by the
// multifile.
struct LocalGroup {
  int rank = 0;
  int size = 0;
  int filenumber = 0;
  int numfiles = 0;
};

// Collective over `comm`, which callback_comm() must have created. Lets the program create its group of the
// tasks of one physical file. The group is freed with the last Comm on `group`, without agreement. Throws on
// all tasks alike.
SHEAF_EXPORT void make_local_group(Comm& comm, const LocalGroup& local);

// Returns the group that make_local_group() has created; null before that call. Callbacks that transfer data
// themselves need it.
SHEAF_EXPORT void* local_group_of(const Comm& comm);

}  // namespace sheaf

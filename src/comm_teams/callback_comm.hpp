// comm_teams/callback_comm: tasks that talk through callbacks of the program (sion_generic.h).
//
// The callbacks offer a root and its group, nothing better, so everything goes through task 0
// (comm_teams/star_comm): a collective is a gather, a scatter and an agreement, and task 0 holds what all
// bring. Programs whose groups are large should use MPI.
//
// Only barrier, bcastr, gatherr and scatterr are called, with numbers of 64 bits: first how much everybody
// has, and the first bytes of that, then rounds of at most 64 KiB for each task. Programs in circulation have
// faults in the other two, which never were called but in mapped opens (gathervr, scattervr), and know no
// bytes. A group of one task calls nobody but create_group and free_group. Every message travels with its
// checksum: one that a callback did not bring, or changed, is an error of all tasks.
//
// With an allgather callback nothing else is called: every task gets what all bring, and computes the result
// itself. Two calls for a collective instead of seven, and O(tasks) bytes on each task.
//
// A callback that fails (returns anything but 0) must not hang the others. The task goes on with the round it
// is in, in step with the rest; at its end the tasks agree on whether a callback has failed anywhere, and
// either none throws or all do: Error io, "task R: the gatherr callback returned N". After that the group is
// dead: every later call throws at once on all tasks, without a callback. A failure of the agreement itself
// is told in the next round. Against a callback that returns without having met the others there is no help:
// they wait inside theirs.
#pragma once

#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// The callbacks, as the generic interface has them. dtype: see int64 below.
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

// Local. `group`: the program's, in which this task is `rank` of `size`; it must live as long as the Comm and
// those split from it. Throws invalid_argument for a rank that is not in the group.
//
// split_by_node() goes by the name of the host, or, where the environment of task 0 has
// SHEAF_TOPOLOGY=node=K, by every K consecutive tasks. Messages are limited to 2 GiB per collective.
SHEAF_EXPORT std::unique_ptr<Comm> callback_comm(const CommCallbacks& callbacks, void* group, int rank,
                                                 int size);

// Where a task is placed, as its program or its multifile says.
struct LocalGroup {
  int rank = 0;
  int size = 0;
  int filenumber = 0;
  int numfiles = 0;
};

// Collective over `comm`, which callback_comm made: lets the program make its group of the tasks of one
// physical file. It is freed with the last Comm on the group, without agreement. Throws on all tasks alike.
SHEAF_EXPORT void make_local_group(Comm& comm, const LocalGroup& local);

// That group, or null before make_local_group. For callbacks that move data themselves.
SHEAF_EXPORT void* local_group_of(const Comm& comm);

}  // namespace sheaf

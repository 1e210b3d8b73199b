// layout/collective: computes groups and chunk sizes of files that are written collectively (docs/format.md,
// section "Collective layouts"). Pure integer arithmetic with overflow checks. Sizes are in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "layout/placement.hpp"

namespace sheaf::layout {

// Returns the average number of bytes per collector, from the sum `total` of the requests of `ntasks` tasks.
// tasks_per_collector <= 0: the number of collectors depends on the number of tasks. All tasks form one group
// if the result is >= `total`.
int64_t bytes_per_collector(int64_t total, int64_t ntasks, int64_t fsblksize, int64_t tasks_per_collector);

// Assigns the tasks of a physical file, in order, to groups. The small state can be sent to another task,
// which continues the pass.
struct GroupPass {
  int64_t filled = 0;   // requests of the current group
  int64_t first = -1;   // first task of the current group; -1: before the first task
  int64_t number = -1;  // number of the current group
  int64_t before = 0;   // requests of all groups preceding the current one

  // Condition under which a task starts a new group.
  enum class Begins : uint8_t {
    overflow,    // its request does not fit into the preceding group
    first_task,  // only if it is the first task
    every_task,
  };
  // Adds the next task, `task`, with a request of `request` bytes. Returns the first task of its group. A
  // request fits into a group while the requests of the group add up to at most `average` bytes.
  int64_t add(int64_t task, int64_t request, int64_t average, Begins begins = Begins::overflow);
};

// Returns the block size of a physical file if the library chooses it and the tasks form one group with
// requests of `total` bytes. Only the collector writes the file, so data that fit into one file system block
// (`fsblksize`) need not be aligned to it.
inline int64_t unshared_alignment(int64_t total, int64_t fsblksize) {
  constexpr int64_t page = 4096;
  return total <= fsblksize ? std::min(fsblksize, page) : fsblksize;
}

// The group of a task: `size` tasks starting at task `first`, with requests of `sum` bytes in total. It is
// group `number` of `count`. The requests of all tasks of lower rank than `first` add up to `before`.
struct GroupPlace {
  int64_t first = 0;
  int64_t size = 1;
  int64_t sum = 0;
  int64_t number = 0;
  int64_t count = 1;
  int64_t before = 0;
};

// Completes the results of a GroupPass by visiting the tasks in reverse order. Before, `first`, `number` and
// `before` of each task must be those of the GroupPass, and `sum` the requests of its group up to the task.
struct GroupPassBack {
  GroupPlace behind{-1, 0, 0, 0, 0, 0};  // group of the following task

  void complete(int64_t task, GroupPlace& place);
};

// Returns the index of the member of a group that becomes its collector: the first member on the host nearest
// to this group's share of all hosts. The collectors of all groups are thus distributed evenly over the
// hosts. `nodes` contains the host of each member and must not be empty. Hosts are numbered 0..nnodes-1 in
// the order of the tasks. The group is `place.number` of `place.count` in physical file `file` of `nfiles`.
int64_t choose_collector(std::span<const int64_t> nodes, int64_t nnodes, const GroupPlace& place,
                         int64_t file, int64_t nfiles);

// Return the final chunk size of one task of a group with requests of `sum` bytes in total. packed_chunk()
// keeps the requests and enlarges the last one, so that the group consists of whole blocks. merged_chunk()
// gives the collector a chunk for the whole group, and rounds every chunk up to whole blocks.
int64_t packed_chunk(int64_t request, int64_t sum, bool is_last, int64_t fsblksize);
int64_t merged_chunk(int64_t request, int64_t sum, bool is_collector, int64_t fsblksize);

// Says whether a task, and how many tasks of lower rank, may become collectors.
struct Candidate {
  int32_t before = 0;       // tasks of lower rank that may collect
  bool may_collect = true;  // whether this task may collect
};
// Returns the physical file and the local rank of a task under the mode word `collmsa`. The first tasks that
// may collect become collectors, one per group. Throws invalid_argument unless tasks_per_collector >= 2 and
// ntasks is a multiple of nfiles * tasks_per_collector.
Placement renumber(int32_t task, int32_t ntasks, int32_t nfiles, int32_t tasks_per_collector,
                   const Candidate& candidate);

}  // namespace sheaf::layout

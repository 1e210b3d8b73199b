// layout/collective: groups and chunk sizes of files that are written collectively (docs/format.md, section "Collective
// layouts"). Pure, overflow-checked integer arithmetic; sizes in bytes.
#pragma once

#include <cstdint>

namespace sheaf::layout {

// Average of the data that a collector gets, from the sum of the requests of `ntasks` tasks. tasks_per_collector <= 0: as
// many collectors as suit the number of tasks. Everything fits one group if the result is not below `total`.
int64_t bytes_per_collector(int64_t total, int64_t ntasks, int64_t fsblksize, int64_t tasks_per_collector);

// Goes over the tasks of a physical file in order and says where groups begin. State of 16 bytes, so that the pass can go
// on elsewhere.
struct GroupPass {
  int64_t filled = 0;  // requests of the current group
  int64_t first = -1;  // first task of the current group; -1: before the first task

  // Task `task`, the next one, joins; returns the first task of its group. may_collect: it may begin a group.
  int64_t add(int64_t task, int64_t request, int64_t average, bool may_collect = true);
};

// Final chunk size of one task of a group whose requests add up to `sum`.
int64_t packed_chunk(int64_t request, int64_t sum, bool is_last, int64_t fsblksize);
int64_t merged_chunk(int64_t request, int64_t sum, bool is_collector, int64_t fsblksize);

// Where the word `collmsa` puts a task: physical file and local rank. All tasks may collect. Throws invalid_argument unless
// ntasks is a multiple of nfiles * tasks_per_collector.
struct Renumbered {
  int32_t file = 0;
  int32_t local_rank = 0;
};
Renumbered renumber(int32_t task, int32_t ntasks, int32_t nfiles, int32_t tasks_per_collector);

}  // namespace sheaf::layout

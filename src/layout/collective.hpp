// layout/collective: groups and chunk sizes of files that are written collectively (docs/format.md, section
// "Collective layouts"). Pure, overflow-checked integer arithmetic; sizes in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "layout/placement.hpp"

namespace sheaf::layout {

// Average of the data that a collector gets, from the sum of the requests of `ntasks` tasks.
// tasks_per_collector <= 0: as many collectors as suit the number of tasks. Everything fits one group if the
// result is not below `total`.
int64_t bytes_per_collector(int64_t total, int64_t ntasks, int64_t fsblksize, int64_t tasks_per_collector);

// Goes over the tasks of a physical file in order and says where groups begin. A small state, so that the
// pass can go on elsewhere.
struct GroupPass {
  int64_t filled = 0;   // requests of the current group
  int64_t first = -1;   // first task of the current group; -1: before the first task
  int64_t number = -1;  // of the current group
  int64_t before = 0;   // requests of all groups before the current one

  // Whether a task begins a group.
  enum class Begins : uint8_t {
    where_full,  // if its request does not fit the group before
    never,       // unless it is the first of all
    always,
  };
  // Task `task`, the next one, joins; returns the first task of its group.
  int64_t add(int64_t task, int64_t request, int64_t average, Begins begins = Begins::where_full);
};

// Block size of a physical file whose tasks are one group with requests of `total` bytes, where the library
// chooses it: nobody shares the file with the collector, so data that fit one block of the file system
// (`fsblksize`) need not begin a block.
inline int64_t unshared_alignment(int64_t total, int64_t fsblksize) {
  constexpr int64_t page = 4096;
  return total <= fsblksize ? std::min(fsblksize, page) : fsblksize;
}

// The group of a task: `size` tasks from `first` on, whose requests add up to `sum`, group `number` of
// `count`. The requests of the tasks of lower rank than `first` add up to `before`.
struct GroupPlace {
  int64_t first = 0;
  int64_t size = 1;
  int64_t sum = 0;
  int64_t number = 0;
  int64_t count = 1;
  int64_t before = 0;
};

// Goes back over the tasks, the last one first, and completes what GroupPass knew at each of them: first,
// number, before, and as `sum` the requests so far.
struct GroupPassBack {
  GroupPlace behind{-1, 0, 0, 0, 0, 0};  // of the task behind

  void complete(int64_t task, GroupPlace& place);
};

// Which member of a group collects, so that the collectors of all groups are spread evenly over the nodes:
// the first on the node that is nearest to this group's share of all nodes. nodes: of the members, not empty;
// nodes are numbered in the order of the tasks, nnodes of them. The group is `place.number` of `place.count`
// in physical file `file` of `nfiles`.
int64_t choose_collector(std::span<const int64_t> nodes, int64_t nnodes, const GroupPlace& place,
                         int64_t file, int64_t nfiles);

// Final chunk size of one task of a group whose requests add up to `sum`.
int64_t packed_chunk(int64_t request, int64_t sum, bool is_last, int64_t fsblksize);
int64_t merged_chunk(int64_t request, int64_t sum, bool is_collector, int64_t fsblksize);

// Where the word `collmsa` puts a task: physical file and local rank. The first tasks that may collect do so,
// as many as there are groups. Throws invalid_argument unless ntasks is a multiple of nfiles *
// tasks_per_collector.
struct Candidate {
  int32_t before = 0;       // tasks of lower rank that may collect
  bool may_collect = true;  // this one
};
Placement renumber(int32_t task, int32_t ntasks, int32_t nfiles, int32_t tasks_per_collector,
                   const Candidate& candidate);

}  // namespace sheaf::layout

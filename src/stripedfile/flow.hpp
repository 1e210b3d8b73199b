// stripedfile/flow: in which order the tasks of a collective call turn to the I/O listeners, so that in each
// step tasks and listeners are paired evenly: none has many tasks at a time while another one has none. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::sfio {

// One task's part of the schedule.
struct Flow {
  std::vector<int> order{};  // numbers of listeners, each at most once
  int width = 1;             // so many of them in a step
};

// The schedule of task `task`, the same for all who ask with the same loads: bytes of every task for every
// listener, loads[task * listeners + listener]. A step gives each task that has something left `width`
// listeners of its own choice, those with most left first, each the listeners that have the fewest tasks in
// this step. O(tasks * listeners * steps).
Flow flow_of(std::span<const int64_t> loads, int listeners, int task);

// Without knowing the loads: all go round, each from a place of its own.
Flow turns(int tasks, int listeners, int task);

}  // namespace sheaf::sfio

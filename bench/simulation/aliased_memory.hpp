// simulation/aliased_memory: shared memory of a modelled host for a window pool (exchange/shm_window_pool).
//
// A pool has its states and coverage maps first and then its windows, which have 8 bytes per byte of the
// maps. The programs of a simulation transfer one pattern and never look at it. So the last three quarters of
// the memory are one piece of physical memory, mapped again and again: a thousand hosts with pools of several
// hundred MiB fit into the memory of one machine.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/shared_memory.hpp"

namespace sheaf::simulation {

// Returns memory for a host with only this task; null if it cannot be mapped.
std::shared_ptr<SharedMemory> aliased_memory(int task, size_t bytes);

// Frees the pages of the task's states and maps that contain zeros only. Most do after a plan.
void free_zero_pages(int task);

}  // namespace sheaf::simulation

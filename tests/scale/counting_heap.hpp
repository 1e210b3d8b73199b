// Counts the heap bytes that each simulated task holds, at once and at most. Every block remembers the task that was
// running when it was allocated; the program's operator new and delete are replaced (counting_heap.cpp).
#pragma once

#include <cstdint>

namespace counting_heap {

// From now on tasks 0..ntasks-1 are counted, with nothing held.
void start(int ntasks);
void stop();
// Largest number of bytes (with the allocator's rounding) a task has held at once since start().
int64_t most_held(int task);

}  // namespace counting_heap

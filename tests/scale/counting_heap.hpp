// Counts the heap bytes that each simulated task holds, at once and at most. Every block remembers the task
// that was running when it was allocated; the program's operator new and delete are replaced
// (counting_heap.cpp).
#pragma once

#include <cstdint>

namespace counting_heap {

// From now on tasks 0..ntasks-1 are counted, with nothing held.
void start(int ntasks);
void stop();
// Largest number of bytes (with the allocator's rounding) a task has held at once since start().
int64_t most_held(int task);

// While it lives, blocks of a page and more lie in memory that all blocks with the same `kind` share, as far
// as they reach: for what very many tasks hold, all of them the same. They count as blocks of their own.
class Alike {
 public:
  explicit Alike(int kind);  // 0..15
  Alike(const Alike&) = delete;
  Alike& operator=(const Alike&) = delete;
  ~Alike();
};

}  // namespace counting_heap

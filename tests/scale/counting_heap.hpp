// Counts the current and maximum heap bytes of each simulated task. Every block records the task that was
// running when it was allocated. The program's operators new and delete are replaced (counting_heap.cpp).
#pragma once

#include <cstdint>

namespace counting_heap {

// Starts counting for tasks 0..ntasks-1, with all counts at 0.
void start(int ntasks);
void stop();
// Returns the maximum bytes (with the allocator's rounding) that a task has held at once since start().
int64_t max_held(int task);

// During the lifetime of an Alike, blocks of a page or more share memory with all blocks of the same `kind`,
// up to their common length. Used for equal data of very many tasks. Each block is counted in full.
class Alike {
 public:
  explicit Alike(int kind);  // 0..15
  Alike(const Alike&) = delete;
  Alike& operator=(const Alike&) = delete;
  ~Alike();
};

}  // namespace counting_heap

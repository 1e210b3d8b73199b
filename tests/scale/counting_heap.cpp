#include "scale/counting_heap.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "comm/fiber_comm.hpp"

namespace counting_heap {

namespace {

struct Count {
  int32_t held = 0;
  int32_t most = 0;
};

Count* counts = nullptr;
int counted = 0;

struct alignas(16) Label {
  int64_t bytes;
  int task;
};

// What a block costs a program: glibc adds a word and rounds up to 16 bytes, 32 at least.
int64_t cost_of(int64_t size) { return std::max<int64_t>(32, (size + 8 + 15) / 16 * 16); }

void add(int task, int64_t bytes) {
  if (!counts || task < 0 || task >= counted) return;
  Count& c = counts[task];
  c.held += static_cast<int32_t>(bytes);
  if (c.held > c.most) c.most = c.held;
}

}  // namespace

void* allocate(std::size_t size) {
  void* block = std::malloc(size + sizeof(Label));
  if (!block) throw std::bad_alloc();
  const int64_t bytes = cost_of(static_cast<int64_t>(size));
  const int task = counts ? sheaf::memory_owner() : -1;
  auto* label = new (block) Label{bytes, task};
  add(task, bytes);
  return label + 1;
}

void release(void* memory) {
  if (!memory) return;
  Label* label = static_cast<Label*>(memory) - 1;
  add(label->task, -label->bytes);
  std::free(label);
}

void start(int ntasks) {
  std::free(counts);
  counts = static_cast<Count*>(std::calloc(static_cast<size_t>(ntasks), sizeof(Count)));
  counted = ntasks;
}

void stop() {
  std::free(counts);
  counts = nullptr;
}

int64_t most_held(int task) { return counts[task].most; }

}  // namespace counting_heap

void* operator new(std::size_t size) { return counting_heap::allocate(size); }
void operator delete(void* memory) noexcept { counting_heap::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { counting_heap::release(memory); }

#include "scale/counting_heap.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "support/fibers/fiber_comm.hpp"

namespace counting_heap {

namespace {

struct Count {
  int64_t held = 0;
  int64_t most = 0;
};

Count* counts = nullptr;
int counted = 0;

struct alignas(16) BlockLabel {
  int64_t bytes;
  int task;
  int pages;  // pages of a shared block, with the page before it; 0: not shared
};

constexpr std::size_t page = 4096;
int shared_kind = -1;
std::array<int, 16> shared_files{};  // 0: none yet

[[noreturn]] void give_up(const char* call) {
  std::perror(call);
  std::abort();
}

// Maps pages shared by all blocks of the kind, after a private page for the label.
void* map_alike(std::size_t size) {
  int& file = shared_files[static_cast<std::size_t>(shared_kind)];
  if (file == 0 && (file = ::memfd_create("alike", 0)) < 0) give_up("memfd_create");
  struct stat status {};
  if (::fstat(file, &status) != 0) give_up("fstat");
  const std::size_t bytes = (size + page - 1) / page * page;
  if (static_cast<std::size_t>(status.st_size) < bytes && ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    give_up("ftruncate");
  void* const own = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) give_up("mmap");
  std::byte* const block = static_cast<std::byte*>(own) + page;
  if (::mmap(block, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    give_up("mmap");
  return block;
}

// Returns the memory that a block costs a program: glibc adds a word and rounds up to 16 bytes, at least 32.
int64_t cost_of(int64_t size) { return std::max<int64_t>(32, (size + 8 + 15) / 16 * 16); }

void add(int task, int64_t bytes) {
  if (!counts || task < 0 || task >= counted) return;
  Count& c = counts[task];
  c.held += bytes;
  if (c.held > c.most) c.most = c.held;
}

}  // namespace

void* allocate(std::size_t size) {
  const int64_t bytes = cost_of(static_cast<int64_t>(size));
  const int task = counts ? sheaf::memory_owner() : -1;
  add(task, bytes);
  if (shared_kind >= 0 && size >= page) {
    void* const block = map_alike(size);
    new (static_cast<BlockLabel*>(block) - 1)
        BlockLabel{bytes, task, static_cast<int>((size + page - 1) / page) + 1};
    return block;
  }
  void* block = std::malloc(size + sizeof(BlockLabel));
  if (!block) throw std::bad_alloc();
  return new (block) BlockLabel{bytes, task, 0} + 1;
}

void release(void* memory) {
  if (!memory) return;
  BlockLabel* label = static_cast<BlockLabel*>(memory) - 1;
  add(label->task, -label->bytes);
  if (label->pages == 0) return std::free(label);
  ::munmap(static_cast<std::byte*>(memory) - page, page * static_cast<std::size_t>(label->pages));
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

int64_t max_held(int task) { return counts[task].most; }

Alike::Alike(int kind) { shared_kind = kind; }
Alike::~Alike() { shared_kind = -1; }

}  // namespace counting_heap

void* operator new(std::size_t size) { return counting_heap::allocate(size); }
void operator delete(void* memory) noexcept { counting_heap::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { counting_heap::release(memory); }

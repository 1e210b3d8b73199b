#include "comm/shared_memory.hpp"

#include <sched.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace sheaf {

namespace {

constexpr size_t page = 4096;

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};

using Memory = std::shared_ptr<std::byte>;

class ProcessMemory final : public SharedMemory {
 public:
  ProcessMemory(Memory memory, size_t bytes, void (*give_way)())
      : memory_(std::move(memory)), bytes_(bytes), give_way_(give_way) {}

  std::span<std::byte> bytes() const override { return {memory_.get(), bytes_}; }
  void pause() override { give_way_ ? give_way_() : SharedMemory::pause(); }
  void wait(SharedWord& word, uint32_t value) override {
    give_way_ ? give_way_() : SharedMemory::wait(word, value);
  }
  // Whoever is woken may run at once.
  void wake(SharedWord& word, int sleepers) override {
    give_way_ ? give_way_() : SharedMemory::wake(word, sleepers);
  }

 private:
  const Memory memory_;
  const size_t bytes_;
  void (*const give_way_)();
};

}  // namespace

void SharedMemory::pause() { sched_yield(); }

std::unique_ptr<SharedMemory> Comm::share_memory(size_t) { return nullptr; }

std::unique_ptr<SharedMemory> Comm::kept_memory() { return nullptr; }

std::unique_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes) {
  return share_process_memory(comm, bytes, nullptr);
}

std::unique_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes, void (*give_way)()) {
  Memory mine;
  if (comm.rank() == 0)
    mine.reset(static_cast<std::byte*>(std::aligned_alloc(page, (bytes + page - 1) / page * page)), Freed());
  Memory* place = mine ? &mine : nullptr;
  comm.broadcast(std::as_writable_bytes(std::span(&place, 1)), 0);
  if (!place) return nullptr;
  const Memory copy = *place;
  comm.barrier();  // `mine` stays until all have copied it
  return std::make_unique<ProcessMemory>(copy, bytes, give_way);
}

}  // namespace sheaf

#include "comm/shared_memory.hpp"

#include <sys/mman.h>

#include <utility>

#include "base/assert.hpp"

namespace sheaf {

namespace {

using Memory = std::shared_ptr<std::byte>;

// Maps zeroed memory; null if the mapping fails.
Memory map_zeros(size_t bytes) {
  void* const zeros = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zeros == MAP_FAILED) return nullptr;
  return Memory(static_cast<std::byte*>(zeros), [bytes](std::byte* memory) { ::munmap(memory, bytes); });
}

class ProcessMemory final : public SharedMemory {
 public:
  ProcessMemory(Memory memory, size_t bytes, void (*give_way)())
      : SharedMemory(give_way), memory_(std::move(memory)), bytes_(bytes) {}

  std::span<std::byte> bytes() const override { return {memory_.get(), bytes_}; }

 private:
  const Memory memory_;
  const size_t bytes_;
};

}  // namespace

std::shared_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes, void (*give_way)()) {
  SHEAF_ASSERT(bytes > 0);
  Memory mine;
  if (comm.rank() == 0) mine = map_zeros(bytes);
  Memory* place = mine ? &mine : nullptr;
  comm.broadcast(std::as_writable_bytes(std::span(&place, 1)), 0);
  if (!place) return nullptr;
  const Memory copy = *place;
  comm.barrier();  // keeps `mine` alive until all tasks have copied it
  return std::make_shared<ProcessMemory>(copy, bytes, give_way);
}

}  // namespace sheaf

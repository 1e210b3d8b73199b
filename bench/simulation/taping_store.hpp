// simulation/taping_store: files that record requests on a tape, and store metadata in memory but no data.
//
// Programs write bytes of program_data(). The store recognises their pattern and drops them, and does not
// fill memory of program_data() in reads. So a task can "write" gigabytes from a few MiB of memory.
#pragma once

#include <span>

#include "simulation/tape.hpp"
#include "storage/store.hpp"
#include "storage/write_slots.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::simulation {

enum class Keep : uint8_t {
  metadata,  // everything except the pattern
  nothing,   // only sizes, for files that the program never reads
};

// Returns memory with the pattern, shared by all tasks; at most 64 MiB.
std::span<std::byte> program_data(int64_t bytes);

class TapingStore final : public Store {
 public:
  // `block` is the block size of the file system in bytes. Tasks see it as block size and as shared
  // granularity of hosts. The tape gets `scale` times the offsets and bytes of each request, and must outlive
  // the store.
  TapingStore(SimulationTape& tape, int64_t block, Keep keep, int64_t scale = 1)
      : tape_(tape), block_(block), keep_(keep), scale_(scale), memory_(block) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override { return memory_.status(path); }
  void remove(const std::string& path) override { memory_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { memory_.rename(from, to); }
  FileSystemTraits traits(const std::string& path) override;
  // Slots record the tasks that take them; in recording, every task gets one at once.
  std::shared_ptr<WriteSlots> make_slots(int count) override;
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override;

 private:
  SimulationTape& tape_;
  const int64_t block_;
  const Keep keep_;
  const int64_t scale_;
  MemoryStore memory_;
};

}  // namespace sheaf::simulation

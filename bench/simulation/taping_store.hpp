// simulation/taping_store: files that note on a tape what is asked of them, and keep metadata in memory but
// no data.
//
// Data are bytes of program_data(): what tasks write is recognised by its pattern and dropped, what they read
// into it is not filled. So a task may "write" gigabytes from a few MiB of memory.
#pragma once

#include <span>

#include "simulation/tape.hpp"
#include "storage/store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::simulation {

enum class Keep : uint8_t {
  metadata,  // all but the pattern
  nothing,   // sizes only: files of a program that never looks into them
};

// Memory of the pattern, shared by all tasks; at most 64 MiB.
std::span<std::byte> program_data(int64_t bytes);

class TapingStore final : public Store {
 public:
  // `block`: bytes of what the tasks are told to be the file system's block, and so the unit in which hosts
  // stay apart. The tape outlives the store.
  TapingStore(Tape& tape, int64_t block, Keep keep)
      : tape_(tape), block_(block), keep_(keep), memory_(block) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override { return memory_.status(path); }
  void remove(const std::string& path) override { memory_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { memory_.rename(from, to); }
  FileSystemTraits traits(const std::string& path) override;

 private:
  Tape& tape_;
  const int64_t block_;
  const Keep keep_;
  MemoryStore memory_;
};

}  // namespace sheaf::simulation

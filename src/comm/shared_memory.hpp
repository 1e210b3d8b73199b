// comm/shared_memory: memory that the tasks of a group share. Tasks can block on a word in it and wake each
// other.
//
// Comm::share_memory() creates it. It is unmapped or freed when the last task has released its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "base/export.hpp"
#include "base/os/futex.hpp"
#include "base/os/lent_memory.hpp"
#include "comm/comm.hpp"

namespace sheaf {

class SHEAF_EXPORT SharedMemory {
 public:
  // `give_way` is called instead of sleeping or waking if the tasks of the group are neither threads nor
  // processes.
  explicit SharedMemory(void (*give_way)() = nullptr) : give_way_(give_way) {}
  virtual ~SharedMemory() = default;

  virtual std::span<std::byte> bytes() const = 0;  // page-aligned; address differs between tasks

  // Returns true if share_memory() has not returned the memory before. Fresh memory is zeroed, and its
  // untouched pages use no physical memory.
  bool is_fresh() const { return fresh_; }

  // Marks the memory as not fresh. Called by groups that keep the memory in order to return it from
  // share_memory() again.
  void give_again() { fresh_ = false; }

  // Returns what processes outside the group need to map the memory while this object lives; nullopt if they
  // cannot map it.
  virtual std::optional<LentMemory> lent() const { return std::nullopt; }

  // Yields to other tasks for a moment.
  void pause() { give_way_ ? give_way_() : std::this_thread::yield(); }
  // Blocks while `word` equals `value`. Returns when the word has changed or after at most 4 ms, so callers
  // must loop.
  void wait(SharedWord& word, uint32_t value) {
    give_way_ ? give_way_() : sleep_while(word, value, 4'000'000);
  }
  // Wakes the tasks that wait on `word`. They may run at once.
  void wake(SharedWord& word) { give_way_ ? give_way_() : sheaf::wake(word); }

 private:
  void (*const give_way_)();
  bool fresh_ = true;
};

// Collective. Allocates memory for the tasks of `comm`, which must all live in this process.
std::shared_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes, void (*give_way)() = nullptr);

}  // namespace sheaf

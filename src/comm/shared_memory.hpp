// comm/shared_memory: memory that the tasks of a group share, and how they wait for each other by words of
// it.
//
// Made by Comm::share_memory(). Unmapped or freed when the last task has dropped its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "base/export.hpp"
#include "comm/comm.hpp"
#include "process/futex.hpp"
#include "process/lent_memory.hpp"

namespace sheaf {

class SHEAF_EXPORT SharedMemory {
 public:
  // give_way: called where a task would sleep or wake others, if the tasks of the group are not threads or
  // processes of their own.
  explicit SharedMemory(void (*give_way)() = nullptr) : give_way_(give_way) {}
  virtual ~SharedMemory() = default;

  virtual std::span<std::byte> bytes() const = 0;  // aligned to a page; at another address on each task

  // Nobody had written to it before share_memory() gave it: it was zeros, of which only what is touched takes
  // room.
  bool is_fresh() const { return fresh_; }

  // For groups that keep it: share_memory() gives it another time. Tasks have touched it already.
  void give_again() { fresh_ = false; }

  // What processes outside the group need to map it too, as long as this object lives; nothing if they
  // cannot.
  virtual std::optional<LentMemory> lent() const { return std::nullopt; }

  // Lets others work, for a moment.
  void pause() { give_way_ ? give_way_() : std::this_thread::yield(); }
  // Lets others work while `word` is `value`. Returns when it has changed, or after some milliseconds: to be
  // called in a loop.
  void wait(SharedWord& word, uint32_t value) {
    give_way_ ? give_way_() : sleep_while(word, value, 4'000'000);
  }
  // Whoever is woken may run at once.
  void wake(SharedWord& word) { give_way_ ? give_way_() : sheaf::wake(word); }

 private:
  void (*const give_way_)();
  bool fresh_ = true;
};

// Collective. Memory of the process that all tasks of `comm` live in.
std::shared_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes, void (*give_way)() = nullptr);

}  // namespace sheaf

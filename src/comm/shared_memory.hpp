// comm/shared_memory: memory that the tasks of a group share, and how they wait for each other by words of
// it.
//
// Made by Comm::share_memory(). Unmapped or freed with the object, when the last task has dropped its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/export.hpp"
#include "comm/comm.hpp"
#include "process/futex.hpp"
#include "process/lent_memory.hpp"

namespace sheaf {

class SHEAF_EXPORT SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  virtual std::span<std::byte> bytes() const = 0;  // aligned to a page; at another address on each task

  // Nobody has written to it before it was got: it is zeros, of which only what is touched takes room.
  virtual bool is_fresh() const { return false; }

  // What those who use the memory leave in it, for who gets it from Comm::kept_memory(). 0 until it is set,
  // on all tasks alike.
  virtual uint64_t label() const { return label_; }
  virtual void set_label(uint64_t label) { label_ = label; }

  // What processes outside the group need to map it too, as long as this object lives; nothing if they
  // cannot.
  virtual std::optional<LentMemory> lent() const { return std::nullopt; }

  // Lets others work, for a moment.
  virtual void pause();
  // Lets others work while `word` is `value`. Returns when it has changed, or after some milliseconds: to be
  // called in a loop.
  virtual void wait(SharedWord& word, uint32_t value) { sleep_while(word, value, 4'000'000); }
  virtual void wake(SharedWord& word, int sleepers = INT_MAX) { sheaf::wake(word, sleepers); }

 private:
  uint64_t label_ = 0;
};

// Memory that stays with a group for the next one who asks: tasks have touched it already.
class KeptMemory final : public SharedMemory {
 public:
  explicit KeptMemory(std::shared_ptr<SharedMemory> memory, bool fresh = false)
      : memory_(std::move(memory)), fresh_(fresh) {}
  std::span<std::byte> bytes() const override { return memory_->bytes(); }
  bool is_fresh() const override { return fresh_; }
  uint64_t label() const override { return memory_->label(); }
  void set_label(uint64_t label) override { memory_->set_label(label); }
  std::optional<LentMemory> lent() const override { return memory_->lent(); }
  void pause() override { memory_->pause(); }
  void wait(SharedWord& word, uint32_t value) override { memory_->wait(word, value); }
  void wake(SharedWord& word, int sleepers) override { memory_->wake(word, sleepers); }

 private:
  const std::shared_ptr<SharedMemory> memory_;
  const bool fresh_;
};

// Collective. Memory of the process that all tasks of `comm` live in.
std::unique_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes);

// The same, for groups whose waiting tasks must call `give_way`.
std::unique_ptr<SharedMemory> share_process_memory(Comm& comm, size_t bytes, void (*give_way)());

}  // namespace sheaf

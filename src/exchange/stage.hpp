// exchange/stage: memory of a node through which windows of a file pass between its tasks and the file.
//
// Tasks copy their pieces of a window straight to where they belong in a slot, or from there: bytes are copied once on their
// way to the request. Nobody waits for anybody but when all slots are full (writing) or nothing has been read yet (reading):
// the task that completes a window makes it ready, and writes it, and others that are ready, if not as many others write
// already as the file likes; a task that needs a window which nobody reads, reads it.
//
// Windows get consecutive numbers, over all calls; window s goes through slot s % slots, as soon as window s - slots has left
// it. A task works on its windows in that order, so somebody can always go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/glance.hpp"
#include "comm/shared_memory.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

class Stage {
 public:
  struct Slot {
    alignas(64) SharedWord use;         // window that may use the slot now
    SharedWord ready;                    // the window in it is complete: its number + 1
    SharedWord claimed;                  // the window that somebody reads or writes: its number + 1
    SharedWord event;                    // changes when one of the above does and somebody sleeps
    SharedWord sleepers;
    alignas(64) std::atomic<int64_t> bytes;  // that tasks have brought, or taken
    std::atomic<int64_t> got;            // bytes that the file had
  };
  struct Sums {
    alignas(64) std::atomic<uint64_t> coverage;
    std::atomic<int64_t> bytes;
    std::atomic<int64_t> pieces;
    SharedWord failed;
  };
  struct Entry {  // of one window, over the tasks
    std::atomic<uint64_t> coverage;
    std::atomic<int64_t> bytes;
  };
  static constexpr int64_t pages = 2048;  // of a file, that have a word at a time

  struct Head {
    alignas(64) SharedWord finished;  // windows that are done, over all calls
    SharedWord sleepers;              // who wait for the last window of a call
    alignas(64) SharedWord writers;   // tasks that write
    SharedWord waiting;               // windows that are ready and nobody writes yet
    SharedWord idle;                  // the last window that a task began to wait for: its number + 1
    Sums sums[3];                     // of calls in turn
    // Of writes in place (exchange/in_place.hpp).
    alignas(64) SharedWord placed;    // parts of tasks, over all calls
    SharedWord placing;               // who sleep until the last one is
    SharedWord place_failed;          // the last round of a part that has failed
    SharedWord page[pages];           // how far each is made
    SharedWord page_alone[pages];     // the same for those who write alone
  };

  static constexpr int64_t table_entries = 2048;  // windows of one leg that has gaps

  // Collective over `comm`. Null on all tasks if they share no memory.
  static std::unique_ptr<Stage> make(Comm& comm, int64_t window, int slots);

  // The stage that an earlier group of the same tasks has left in memory that is kept for them; null on all tasks if there is none of
  // such windows. Both local: all tasks have ended what they did with it, then task 0 renews it, then all meet, then they take it up.
  static void renew(Comm& comm);
  static std::unique_ptr<Stage> take_up(Comm& comm, int64_t window, int slots);

  int64_t window() const { return window_; }
  int slots() const { return slots_; }
  Head& head() const { return *head_; }
  Slot& slot(uint32_t number) const { return slot_[number % static_cast<uint32_t>(slots_)]; }
  std::byte* memory(uint32_t number) const;                        // of the window in its slot
  std::span<std::atomic<uint64_t>> map(uint32_t number) const;      // its coverage map
  std::span<Entry> table(uint32_t leg) const;                      // of even and odd legs

  // Lets transfers of `file` take its memory, until the result is dropped; null if they cannot.
  std::shared_ptr<void> lend_to(File& file) const;

  void sleep(SharedWord& word, uint32_t value) { shared_->wait(word, value); }
  void wake(SharedWord& word, int sleepers = INT_MAX) { shared_->wake(word, sleepers); }
  // Tells those who sleep by the slot that something has changed.
  void announce(Slot& slot);
  // Looks whether `ready`: windows pass within microseconds. False if it is not after many looks.
  template <class Ready>
  bool glance(Ready ready) {
    return sheaf::glance({.least = 200}, ready, [&] { shared_->pause(); });
  }
  // Glances, then sleeps until something changes in the slot, unless `ready` by then.
  template <class Ready>
  void await(Slot& slot, Ready ready) {
    const uint32_t before = slot.event.load(std::memory_order_acquire);
    slot.sleepers.fetch_add(1);
    if (!glance([&] { return slot.event.load(std::memory_order_acquire) != before || ready(); })) sleep(slot.event, before);
    slot.sleepers.fetch_sub(1);
  }

 private:
  Stage(std::unique_ptr<SharedMemory> shared, int64_t window, int slots);
  void clear();

  std::unique_ptr<SharedMemory> shared_;
  const int64_t window_;
  const int slots_;
  Head* head_;
  Slot* slot_;
  Entry* table_;
  std::atomic<uint64_t>* maps_;
  std::byte* memory_;
};

}  // namespace sheaf::exchange

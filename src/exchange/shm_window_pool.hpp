// exchange/shm_window_pool: the window pool of a host: shared memory through which bytes pass between the
// tasks and the file, one window of the file at a time.
//
// Tasks copy their extents directly to or from their place in a slot, and file requests use the slot. So each
// byte is copied once. exchange/window_protocol is the protocol; exchange/window_call applies it to a
// transfer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/os/lent_memory.hpp"
#include "base/report/trace.hpp"
#include "comm/shared_memory.hpp"
#include "comm/spin_wait.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/coverage.hpp"
#include "exchange/pieces/windows.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

class ShmWindowPool {
 public:
  struct WindowSlot {
    alignas(64) SharedWord state;
    SharedWord arrived;
    std::atomic<int64_t> got;  // reads: bytes of the window before the end of the file
  };
  // Sums of the values that the tasks contribute to a call, and the failure flag of the call.
  struct CallSums {
    alignas(64) std::atomic<uint64_t> coverage;
    std::atomic<int64_t> bytes;
    std::atomic<int64_t> pieces;
    std::atomic<int64_t> lengths;  // total length of the tasks' ranges
    SharedWord failed;

    void clear() {
      for (auto* sum : {&bytes, &pieces, &lengths}) sum->store(0);
      coverage.store(0);
      failed.store(0);
    }
  };
  // The range of the file in which a task has extents; low == high: none.
  struct TaskExtent {
    std::atomic<int64_t> low;
    std::atomic<int64_t> high;
  };

  // Creates the pool of a host. Collective over the tasks of the host. Returns null on all tasks if they
  // share no memory.
  static std::unique_ptr<ShmWindowPool> make(Comm& host, const WindowPoolShape& shape);

  const WindowPoolShape& shape() const { return shape_; }
  WindowSlot& slot(uint64_t number) const { return slot_[number % static_cast<uint64_t>(shape_.slots)]; }
  // Returns the memory of window `number` in its slot. Maps its first `length` bytes into this task at once.
  std::byte* memory(uint64_t number, int64_t length);
  // Returns the words of the coverage map of window `number`.
  std::span<std::atomic<uint64_t>> map(uint64_t number) const {
    const size_t words = CoverageMap::words_for(shape_.window);
    return {maps_ + number % static_cast<uint64_t>(shape_.slots) * words, words};
  }
  SharedWord& io_token(int number) const {
    SHEAF_DEBUG_ASSERT(number >= 0 && number < max_tokens);
    return head_->tokens[number].word;
  }
  // Three sets of sums and ranges alternate. When task 0 of the host enters a call, it clears the sums of the
  // next call; all tasks have by then left the last call that used them.
  CallSums& sums(int call) const {
    SHEAF_DEBUG_ASSERT(call >= 0 && call < 3);
    return head_->sums[call];
  }
  std::span<TaskExtent> ranges(int call) const {
    return {ranges_ + static_cast<size_t>(call) * static_cast<size_t>(tasks_), static_cast<size_t>(tasks_)};
  }

  // Lends the pool's memory to transfers of this task until the result is dropped. Returns null if the memory
  // cannot be lent.
  std::unique_ptr<Loan> lend() const {
    const auto memory = shared_->lent();
    return memory ? std::make_unique<Loan>(*memory) : nullptr;
  }

  void wake(SharedWord& word) { shared_->wake(word); }
  // Spins while `word` is `value` and ready() is false, because windows usually change within microseconds.
  // Then blocks while `word` is `value`.
  template <class Ready>
  void sleep(SharedWord& word, uint32_t value, Ready ready) {
    const auto goes_on = [&] { return word.load(std::memory_order_acquire) != value || ready(); };
    if (!spin_wait({.least = 200}, goes_on, [&] { shared_->pause(); })) {
      const TraceEvent event("wait for a window");
      shared_->wait(word, value);
    }
  }

 private:
  struct WindowPoolHeader {
    struct Line {
      alignas(64) SharedWord word;
    };
    Line tokens[max_tokens];
    CallSums sums[3];
  };

  ShmWindowPool(std::shared_ptr<SharedMemory> shared, const WindowPoolShape& shape, int tasks);

  std::shared_ptr<SharedMemory> shared_;
  const WindowPoolShape shape_;
  const int tasks_;
  WindowPoolHeader* head_;
  TaskExtent* ranges_;
  WindowSlot* slot_;
  std::atomic<uint64_t>* maps_;
  std::byte* memory_;
  std::vector<size_t> mapped_;  // bytes of each slot that this task has touched
};

}  // namespace sheaf::exchange

// exchange/stage: memory of a host through which windows of a file pass between its tasks and the file.
//
// Tasks copy their pieces of a window straight to where they belong in a slot, or from there: bytes are
// copied once on their way to the request. exchange/stage_steps is the protocol, exchange/stage_call what a
// transfer does with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/glance.hpp"
#include "comm/shared_memory.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/coverage.hpp"
#include "process/lent_memory.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

class Stage {
 public:
  struct Slot {
    alignas(64) SharedWord state;
    SharedWord arrived;
    std::atomic<int64_t> got;  // bytes that the file had of the window
  };
  // What tasks bring to a call, summed up; and what they find out in it.
  struct Sums {
    alignas(64) std::atomic<uint64_t> coverage;
    std::atomic<int64_t> bytes;
    std::atomic<int64_t> pieces;
    std::atomic<int64_t> lengths;  // of their ranges
    SharedWord failed;
  };
  // Of the file, in which a task has pieces; low == high: none.
  struct Range {
    std::atomic<int64_t> low;
    std::atomic<int64_t> high;
  };
  struct Shape {
    int64_t window = 0;  // bytes of a slot
    int slots = 0;
  };

  // Collective over the tasks of a host. Null on all of them if they share no memory.
  static std::unique_ptr<Stage> make(Comm& host, const Shape& shape);

  const Shape& shape() const { return shape_; }
  Slot& slot(uint64_t number) const { return slot_[number % static_cast<uint64_t>(shape_.slots)]; }
  std::byte* memory(uint64_t number, int64_t length);  // of the window, which has that length, in its slot
  // Its coverage map.
  std::span<std::atomic<uint64_t>> map(uint64_t number) const {
    const size_t words = CoverageMap::words_for(shape_.window);
    return {maps_ + number % static_cast<uint64_t>(shape_.slots) * words, words};
  }
  SharedWord& pen(int number) const { return head_->pens[number].word; }
  // Three calls take turns: what one leaves is cleared when all have come to the next, for the one after
  // that.
  Sums& sums(int call) const { return head_->sums[call]; }
  std::span<Range> ranges(int call) const {
    return {ranges_ + static_cast<size_t>(call) * static_cast<size_t>(tasks_), static_cast<size_t>(tasks_)};
  }

  // Lets transfers of this task take the stage's memory, until the result is dropped; null if they cannot.
  std::unique_ptr<Loan> lend() const {
    const auto memory = shared_->lent();
    return memory ? std::make_unique<Loan>(*memory) : nullptr;
  }

  void wake(SharedWord& word) { shared_->wake(word); }
  // Looks whether `word` is still `value`, or `ready`, as windows pass within microseconds; then sleeps while
  // it is.
  template <class Ready>
  void sleep(SharedWord& word, uint32_t value, Ready ready) {
    const auto goes_on = [&] { return word.load(std::memory_order_acquire) != value || ready(); };
    if (!glance({.least = 200}, goes_on, [&] { shared_->pause(); })) shared_->wait(word, value);
  }

 private:
  struct Head {
    struct Line {
      alignas(64) SharedWord word;
    };
    Line pens[most_pens];
    Sums sums[3];
  };

  Stage(std::shared_ptr<SharedMemory> shared, const Shape& shape, int tasks);

  std::shared_ptr<SharedMemory> shared_;
  const Shape shape_;
  const int tasks_;
  Head* head_;
  Range* ranges_;
  Slot* slot_;
  std::atomic<uint64_t>* maps_;
  std::byte* memory_;
  std::vector<size_t> mapped_;  // bytes of each slot that this task has touched
};

}  // namespace sheaf::exchange

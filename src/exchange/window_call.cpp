#include "exchange/window_call.hpp"

#include <algorithm>
#include <iterator>

#include "base/assert.hpp"

namespace sheaf::exchange {

WindowCall::WindowCall(ShmWindowPool& pool, uint64_t begin, const Windows& windows,
                       std::span<const ShmWindowPool::TaskExtent> ranges, int tokens)
    : pool_(pool), windows_(windows), begin_(begin), end_(begin), tokens_(tokens) {
  SHEAF_ASSERT(tokens >= 0 && tokens <= max_tokens && windows.size <= pool.shape().window);
  for (const ShmWindowPool::TaskExtent& range : ranges) {
    if (range.low >= range.high) continue;
    firsts_.push_back(windows_.at(range.low));
    lasts_.push_back(windows_.at(range.high - 1));
  }
  for (auto* places : {&firsts_, &lasts_})  // mostly sorted already, in task order
    if (!std::ranges::is_sorted(*places)) std::ranges::sort(*places);
  if (has_aggregators()) {
    end_ += static_cast<uint64_t>(windows_.count());
    return;
  }
  // The windows of a run have consecutive numbers. A range begins a new run if no range covers the window
  // before its first one.
  for (size_t i = 0; i < firsts_.size(); ++i) {
    if (i == 0 || firsts_[i] > lasts_[i - 1] + 1) runs_.push_back({end_, firsts_[i]});
    end_ = runs_.back().number + static_cast<uint64_t>(lasts_[i] + 1 - runs_.back().place);
    SHEAF_ASSERT(end_ > runs_.back().number);  // numbers and places of runs ascend
  }
}

int64_t WindowCall::place(uint64_t number) const {
  SHEAF_DEBUG_ASSERT(number >= begin_ && number < end_);
  if (has_aggregators()) return windows_.place(static_cast<int64_t>(number - begin_));
  const WindowRun& run = *std::prev(std::ranges::upper_bound(runs_, number, {}, &WindowRun::number));
  return run.place + static_cast<int64_t>(number - run.number);
}

uint64_t WindowCall::next(uint64_t number, const Extent& range) const {
  if (range.length <= 0) return end_;
  const int64_t first = windows_.at(range.offset), last = windows_.at(range.end() - 1);
  if (!has_aggregators()) {
    const WindowRun& run = *std::prev(std::ranges::upper_bound(runs_, first, {}, &WindowRun::place));
    const uint64_t from = run.number + static_cast<uint64_t>(first - run.place),
                   to = run.number + static_cast<uint64_t>(last - run.place);
    return number > to ? end_ : std::max(number, from);
  }
  // The rows are in file order, but the windows of a row are numbered in another order. So the loop tests
  // each window of the rows that the range overlaps.
  const auto row = static_cast<uint64_t>(windows_.row());
  number = std::max(number, begin_ + static_cast<uint64_t>(first) / row * row);
  const uint64_t end = std::min(end_, begin_ + (static_cast<uint64_t>(last) / row + 1) * row);
  while (number < end && (place(number) < first || place(number) > last)) ++number;
  return number < end ? number : end_;
}

uint32_t WindowCall::due(uint64_t number) const {
  const int64_t at = place(number);
  const auto begun = std::ranges::upper_bound(firsts_, at) - firsts_.begin();
  const auto ended = std::ranges::lower_bound(lasts_, at) - lasts_.begin();
  return static_cast<uint32_t>(begun - ended);
}

// Returns true if the next window of a free I/O token is full, so that a waiting task can write it.
bool WindowCall::has_work() const {
  for (int i = 0; i < tokens_; ++i) {
    const uint32_t word = io_token(i).load();
    const uint64_t next = IoToken::next(*this, i, word);
    if (!IoToken::is_held(word) && next < end_ && state(next).load() == free_for(next) &&
        arrived(next).load() == due(next))
      return true;
  }
  return false;
}

void WindowCall::carry_out(const Action<SharedWord>& act) const {
  if (act.what == ActionKind::wake) pool_.wake(*act.word);
  if (act.what == ActionKind::sleep) pool_.sleep(*act.word, act.value, [this] { return has_work(); });
}

}  // namespace sheaf::exchange

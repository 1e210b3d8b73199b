#include "multifile/metadata/slice_sums.hpp"

namespace sheaf::multifile {

std::span<const std::byte> SliceSums::take_from_window(const TaskSums& task, int64_t most,
                                                       SumRounds& rounds) {
  const int64_t in_window = from_rounds_ % sums_of_window;
  if (in_window == 0) {
    window_ = {};  // frees memory before the next one is allocated
    window_ = rounds.next();
    unused_.clear();
    std::span<const std::byte> rest = window_.bytes;
    for (const int64_t size : window_.sizes) {
      unused_.push_back(rest.first(static_cast<size_t>(size)));
      rest = rest.subspan(static_cast<size_t>(size));
    }
  }
  const auto bytes = static_cast<size_t>(4 * std::min(most, sums_of_window - in_window));
  const auto source = static_cast<size_t>(task.source);
  if (source >= unused_.size() || unused_[source].size() < bytes)
    throw Error(Code::mismatch, "a task has not brought all of its checksums");
  const auto part = unused_[source].first(bytes);
  unused_[source] = unused_[source].subspan(bytes);
  from_rounds_ += std::ssize(part) / 4;
  return part;
}

void SliceSums::take(int64_t count, SumRounds& rounds,
                     const std::function<void(std::span<const std::byte>)>& visit) {
  while (count > 0) {
    if (task_ == tasks_.size())
      throw Error(Code::mismatch, "there are fewer checksums than the slice is said to have");
    const TaskSums& task = tasks_[task_];
    if (of_task_ == task.count) {
      ++task_;
      of_task_ = 0;
      continue;
    }
    const int64_t most = std::min(count, task.count - of_task_);
    const auto part = task.here ? std::span(task.here + 4 * of_task_, static_cast<size_t>(4 * most))
                                : take_from_window(task, most, rounds);
    visit(part);
    of_task_ += std::ssize(part) / 4;
    count -= std::ssize(part) / 4;
  }
}

}  // namespace sheaf::multifile

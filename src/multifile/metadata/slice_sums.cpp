#include "multifile/metadata/slice_sums.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf::multifile {

std::span<const uint32_t> part_in_window(std::span<const uint32_t> sums, int64_t begin, int64_t round) {
  const int64_t first = std::clamp<int64_t>(round * sums_of_window - begin, 0, std::ssize(sums));
  const int64_t last = std::clamp<int64_t>((round + 1) * sums_of_window - begin, 0, std::ssize(sums));
  return sums.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
}

void SliceSums::add(int64_t count, std::span<const std::byte> here, int source) {
  SHEAF_ASSERT(count >= 0);
  const bool follows = count > 0 && here.empty();
  static constexpr std::byte nothing{};
  tasks_.push_back({follows ? nullptr : here.empty() ? &nothing : here.data(), count, source});
  if (follows) in_rounds_ += count;
}

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

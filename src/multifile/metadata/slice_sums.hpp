// multifile/metadata/slice_sums: transfers the data checksums of a slice of tasks through its metadata writer
// to the file.
//
// A task with 16 GiB of data has 1 MiB of checksums. A slice of 16,384 such tasks has 16 GiB, more than a
// metadata writer can hold. Tasks with few checksums send them with their row (task_blocks.hpp). The others
// send theirs in rounds, after the metadata writers have all rows. These checksums form an array in slice
// order, and each round transfers its next window. A metadata writer writes the checksums it has before it
// requests more.
//
// Memory of a metadata writer: `sums_in_rows`, one window, and some 50 bytes per task. Messages: one gather
// per window, that is, per 128 GiB of data of the slice; none if all tasks have few checksums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"

namespace sheaf::multifile {

// Checksums sent with all rows of a slice, and in one round: 8 MiB each, so that a round takes no more memory
// than the rows.
inline constexpr int64_t sums_in_rows = 2 << 20;
inline constexpr int64_t sums_of_window = 2 << 20;

// Returns the maximum number of checksums that a task sends with its row, in a slice of `tasks` tasks. It is
// at least four, because four checksums take no more memory than the rest of the row.
constexpr int64_t max_sums_in_row(int64_t tasks) {
  return std::max<int64_t>(4, sums_in_rows / std::max<int64_t>(1, tasks));
}

// Returns the number of rounds for `sums` checksums.
constexpr int64_t rounds_of(int64_t sums) { return (sums + sums_of_window - 1) / sums_of_window; }

// Returns the checksums that a task sends in round `round`: the part of `sums` in that window. `begin` is the
// index of its first checksum among those of the slice that are sent in rounds.
inline std::span<const uint32_t> part_in_window(std::span<const uint32_t> sums, int64_t begin,
                                                int64_t round) {
  const int64_t first = std::clamp<int64_t>(round * sums_of_window - begin, 0, std::ssize(sums));
  const int64_t last = std::clamp<int64_t>((round + 1) * sums_of_window - begin, 0, std::ssize(sums));
  return sums.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
}

// The rounds of a slice, for one of its tasks. All rounds take place even after a failure, so that no task
// waits for a metadata writer that could not write.
class SumRounds {
 public:
  SumRounds() = default;  // no rounds
  // `gather` is collective over the slice. At the metadata writer it returns a window, at other tasks
  // nothing.
  SumRounds(int64_t rounds, std::function<Gathered(int64_t round)> gather)
      : rounds_(rounds), gather_(std::move(gather)) {}

  // Returns the next window. Collective. Throws mismatch if no round is left.
  Gathered next() {
    if (done_ == rounds_)
      throw Error(Code::mismatch, "there are more checksums than the tasks of the slice bring");
    return gather_(done_++);
  }
  // Executes the remaining rounds and discards their checksums. Collective.
  void finish() {
    while (done_ < rounds_) gather_(done_++);
  }

 private:
  int64_t rounds_ = 0;
  int64_t done_ = 0;
  std::function<Gathered(int64_t)> gather_;
};

// The checksums of the tasks of a slice, in order, at its metadata writer, which holds only a part of them at
// a time.
class SliceSums {
 public:
  explicit SliceSums(size_t tasks) { tasks_.reserve(tasks); }

  // Adds the next task, which has `count` checksums. They are in `here`, which must outlive the object. If
  // `here` is empty, process `source` of the slice sends them in rounds.
  void add(int64_t count, std::span<const std::byte> here, int source) {
    SHEAF_ASSERT(count >= 0);
    const bool follows = count > 0 && here.empty();
    static constexpr std::byte nothing{};
    tasks_.push_back({follows ? nullptr : here.empty() ? &nothing : here.data(), count, source});
    if (follows) in_rounds_ += count;
  }

  int64_t count(size_t task) const { return tasks_[task].count; }
  int64_t in_rounds() const { return in_rounds_; }  // number of checksums sent in rounds
  // Calls visit(task, begin) for every task in order. begin: number of checksums sent in rounds before those
  // of the task.
  template <class Visit>
  void for_each_begin(Visit&& visit) const {
    int64_t begin = 0;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      visit(t, begin);
      if (!tasks_[t].here) begin += tasks_[t].count;
    }
  }

  // Visits the next `count` checksums in native byte order, in portions. If it needs further rounds, it is
  // collective over the tasks of these rounds.
  void take(int64_t count, SumRounds& rounds,
            const std::function<void(std::span<const std::byte> sums)>& visit);

 private:
  struct TaskSums {
    const std::byte* here;
    int64_t count;
    int source;
  };
  std::span<const std::byte> take_from_window(const TaskSums& task, int64_t most, SumRounds& rounds);

  std::vector<TaskSums> tasks_;
  int64_t in_rounds_ = 0;
  // Position of take(): number of complete tasks, of checksums taken from the next task, and of checksums
  // taken from rounds.
  size_t task_ = 0;
  int64_t of_task_ = 0;
  int64_t from_rounds_ = 0;
  Gathered window_;
  std::vector<std::span<const std::byte>> unused_;  // rest of the window, by source
};

}  // namespace sheaf::multifile

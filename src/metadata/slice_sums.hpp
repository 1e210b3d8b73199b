// metadata/slice_sums: the data checksums of a slice of tasks on their way through its leader into the file.
//
// A task with 16 GiB of data has 1 MiB of checksums, a slice of 16,384 such tasks has 16 GiB, which no leader
// can hold. Tasks that have few bring them with their row (task_blocks.hpp). Those of the others follow in
// rounds when the leaders have all rows: they are an array in the order of the slice, of which every round
// brings the next window. A leader writes what it got before it asks for more.
//
// Memory of a leader: `sums_in_rows`, a window, and some 50 bytes per task. Messages: a gather per window, so
// one for every 128 GiB of data of the slice; none where all tasks have few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

// Checksums that come with all rows of a slice, and in one round: 8 MiB each, so that a round takes a leader
// no more memory than the rows.
inline constexpr int64_t sums_in_rows = 2 << 20;
inline constexpr int64_t sums_of_window = 2 << 20;

// Most checksums that a task brings with its row if its slice has so many tasks. Four take no more room than
// the sizes of its blocks, however many tasks there are.
constexpr int64_t most_sums_in_row(int64_t tasks) {
  return std::max<int64_t>(4, sums_in_rows / std::max<int64_t>(1, tasks));
}

// Rounds for so many checksums.
constexpr int64_t rounds_of(int64_t sums) { return (sums + sums_of_window - 1) / sums_of_window; }

// What a task brings to round `round`: the part in that window of its checksums, the first of which is number
// `begin` of those of the slice that come in rounds.
std::span<const uint32_t> part_in_window(std::span<const uint32_t> sums, int64_t begin, int64_t round);

// The rounds of a slice as one of its tasks takes part in them. All of them are made whatever fails, so that
// nobody waits for a leader that could not write.
class SumRounds {
 public:
  SumRounds() = default;  // none
  // gather(round) is collective over the slice and gives its leader a window, everyone else nothing.
  SumRounds(int64_t rounds, std::function<Gathered(int64_t round)> gather)
      : rounds_(rounds), gather_(std::move(gather)) {}

  // Collective. The next window. Throws mismatch if there are no more.
  Gathered next();
  // Collective. Those that are left, of which nothing is used.
  void finish() {
    while (done_ < rounds_) gather_(done_++);
  }

 private:
  int64_t rounds_ = 0;
  int64_t done_ = 0;
  std::function<Gathered(int64_t)> gather_;
};

// At a leader: the checksums of the tasks of its slice, in order, of which it holds a part.
class SliceSums {
 public:
  explicit SliceSums(size_t tasks) { tasks_.reserve(tasks); }

  // The next task has `count` checksums: either they are `here`, in memory that outlives the object, or
  // `here` is empty, and they come in rounds as a part of what task `source` of the group brings.
  void add(int64_t count, std::span<const std::byte> here, int source);

  int64_t count(size_t task) const { return tasks_[task].count; }
  int64_t in_rounds() const { return in_rounds_; }  // those of all tasks that come so
  // Calls visit(task, begin) for every task in order; begin: number of checksums that come in rounds before
  // its own.
  template <class Visit>
  void for_each_begin(Visit&& visit) const {
    int64_t begin = 0;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      visit(t, begin);
      if (!tasks_[t].here) begin += tasks_[t].count;
    }
  }

  // Visits the next `count` checksums as they are in memory, in parts. Collective with those who make the
  // same rounds, as far as these are needed.
  void take(int64_t count, SumRounds& rounds,
            const std::function<void(std::span<const std::byte> sums)>& visit);

 private:
  struct Task {
    const std::byte* here;
    int64_t count;
    int source;
  };
  std::span<const std::byte> take_from_window(const Task& task, int64_t most, SumRounds& rounds);

  std::vector<Task> tasks_;
  int64_t in_rounds_ = 0;
  // What is taken: tasks before this one, of this one, and of those that came in rounds.
  size_t task_ = 0;
  int64_t of_task_ = 0;
  int64_t from_rounds_ = 0;
  Gathered window_;
  std::vector<std::span<const std::byte>> unused_;  // of the window, by source
};

}  // namespace sheaf

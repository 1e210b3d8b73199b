// metadata/leaders: slices of consecutive tasks of a physical file, each with a leader that reads or writes
// the slice's part of the metadata arrays. A member holds O(1) bytes, a leader O(tasks / leaders).
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "metadata/parallel_open.hpp"

namespace sheaf {

class Leaders {
 public:
  // Collective over `comm`, which outlives the object. `alone`: the first task leads all, where no two hosts
  // may write one unit of the metadata.
  explicit Leaders(Comm& comm, bool alone = false) : comm_(comm) {
    group_ = alone ? comm.size() : leader_group(comm.size());
    const int64_t grain = std::lcm<int64_t>(comm.grain(), group_ < comm.size() ? format::group_tasks : 1);
    group_ = static_cast<int>(
        std::min<int64_t>((group_ + grain - 1) / grain * grain, std::max(group_, comm.size())));
    if (group_ < comm.size()) slice_ = comm.split(comm.rank() / group_, comm.rank());
  }

  int total() const { return (comm_.size() + group_ - 1) / group_; }
  bool is_leader() const { return slice().rank() == 0; }
  int64_t leader(int number) const { return int64_t{number} * group_; }  // its rank
  int64_t first() const { return comm_.rank() - slice().rank(); }        // rank of the leader
  size_t count() const { return static_cast<size_t>(slice().size()); }

  // Values of all tasks of the slice at the leader (row by row, one row per task); elsewhere empty.
  // Every task brings the same number of values.
  template <class T>
  std::vector<T> gather(std::span<const T> mine) {
    const Gathered all = slice().gather(std::as_bytes(mine), 0);
    std::vector<T> values(all.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), all.bytes.data(), all.bytes.size());
    return values;
  }

  // The reverse: entry t of `rows` at the leader goes to task t of the slice. Rows that are not as many as
  // tasks (after a failure of the leader, which an agreement must follow) arrive as zeros.
  template <class T>
  void scatter(std::span<const T> rows, T& mine) {
    std::vector<T> zeros;
    if (is_leader() && rows.size() != count()) zeros.resize(count());
    slice().scatter_equal(std::as_bytes(zeros.empty() ? rows : std::span<const T>(zeros)),
                          std::as_writable_bytes(std::span(&mine, 1)), 0);
  }

  // Any number of values per task.
  Gathered gather_any(std::span<const std::byte> mine) { return slice().gather(mine, 0); }
  std::vector<std::byte> scatter_any(const Gathered& pieces) { return slice().scatter(pieces, 0); }

 private:
  Comm& slice() const { return slice_ ? *slice_ : comm_; }

  Comm& comm_;
  int group_;
  std::unique_ptr<Comm> slice_;
};

}  // namespace sheaf

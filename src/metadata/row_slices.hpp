// metadata/row_slices: the arrays of physical files as one table with a row per task, dealt out in slices of
// consecutive rows to a few leaders. A process holds its own rows, a leader also those of its slice.
//
// Rows anywhere (mapped access): in the order of (physical file, local rank); every process talks to every
// leader, an exchange is one gather or scatter per leader. Rows by rank (a process for each task): those of
// one group, of which a process has that of its rank; it talks to its leader alone, in a group of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/agree.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Where slices may begin.
enum class Slicing : uint8_t {
  groups,  // at groups of 1024 tasks of a file, which then are in one hand
  files,  // where a file does: all metadata of a file are in one hand, where two hosts may not write one unit
          // of it
  whole,  // one leader has all rows
};

// The rows of one physical file in a slice.
struct Segment {
  int32_t file = 0;
  int32_t fsblksize = 0;
  int64_t first = 0;  // local rank of the first
  int64_t count = 0;
  int64_t file_tasks = 0;  // of the whole physical file
  int64_t skip = 0;        // sum of the chunk sizes of the whole physical file
  size_t row = 0;          // number in the slice of the first

  size_t end() const { return row + static_cast<size_t>(count); }
  // Of a column with an entry for each row of the slice, or its first ones: those of the segment.
  template <class Entry>
  std::span<Entry> of(std::span<Entry> column) const {
    return column.subspan(row, static_cast<size_t>(count));
  }
  template <class Entry>
  std::span<const Entry> of(const std::vector<Entry>& column) const {
    return of(std::span<const Entry>(column));
  }
};

// Numbers of the rows of a segment, and what they are in its physical file. Sums beyond 2^63 - 1 are that.
struct SegmentSums {
  int64_t sum = 0;
  int64_t largest = 0;
};
struct FileSums {
  int64_t before = 0;  // sum over the rows in front of the segment
  int64_t sum = 0;     // over all
  int64_t largest = 0;
};

class RowSlices {
 public:
  // Rows anywhere. Local; the same `rows` on all tasks of `comm`, which outlives the object. Slices are
  // multiples of 1024 rows but for the last that has any. root: leads if there is one leader.
  RowSlices(Comm& comm, int64_t rows, Slicing slicing = Slicing::groups, int root = 0);
  // Rows by rank. Collective over `comm`, which outlives the object. root: as before.
  RowSlices(Comm& comm, Slicing slicing, int root = 0);
  // Of rows anywhere. Local; to be called for all physical files in order, on all tasks alike: moves slices
  // that begin within a file of `tasks` rows from `first_row` on to where slices may begin.
  void align_to_file(int64_t first_row, int64_t tasks);

  int64_t first() const { return first_; }  // row of the slice this process leads
  int64_t count() const { return count_; }  // rows of it; 0 if it leads none
  bool leads() const { return number_ >= 0; }
  // Leaders that this process talks to, and their rows.
  int leaders() const { return by_rank() ? 1 : static_cast<int>(std::ssize(begins_)) - 1; }
  int leader_of(int64_t row) const;
  int64_t largest() const;                // rows of the largest slice of these
  int number() const { return number_; }  // of this process among them, or -1
  bool by_rank() const { return rows_per_slice_ > 0; }
  // Of rows by rank: all slices, and the rows of each but the last.
  int slices() const { return slices_; }
  int64_t rows_per_slice() const { return rows_per_slice_; }

  // Collective. Brings `records`, ascending by their member `row`, to the leaders of those rows. What a
  // leader gets is ordered by process; sizes are the bytes of each process. Empty elsewhere.
  template <class Record>
  Gathered collect(std::span<const Record> records) {
    return collect_pieces([&](int leader) {
      const auto end =
          std::ranges::find_if(records, [&](const Record& r) { return leader_of(r.row) != leader; });
      const auto piece = records.first(static_cast<size_t>(end - records.begin()));
      records = records.subspan(piece.size());
      return std::as_bytes(piece);
    });
  }
  // piece_of(leader): the bytes for each leader, asked for in their order.
  template <class PieceOf>
  Gathered collect_pieces(PieceOf&& piece_of) {
    Gathered mine;
    for (int l = 0; l < leaders(); ++l) {
      Gathered all = collect_piece(l, piece_of(l));
      if (l == number_) mine = std::move(all);
    }
    return mine;
  }
  // The same for one leader alone.
  Gathered collect_piece(int leader, std::span<const std::byte> piece) {
    return comm_->gather(piece, process_of(leader));
  }

  // Collective, the reverse: one piece per process at each leader. Returns the pieces for this process in the
  // order of the leaders. A leader that failed may bring pieces of any size, also none; an agreement must
  // follow.
  std::vector<std::byte> answer(Gathered pieces);
  // The same for records that were collected, each of which has an answer: act(records), at leaders, gives
  // them in the same order. Returns those for the `mine` records of this process; what act() threw is
  // `problem`, if there was none before, and answers are missing that are zeros then.
  template <class Answer, class Record, class Act>
  std::vector<Answer> answer(const Gathered& collected, size_t mine, std::optional<Error>& problem,
                             Act&& act);
  // Both in one.
  template <class Answer, class Record, class Act>
  std::vector<Answer> ask(std::span<const Record> records, std::optional<Error>& problem, Act&& act) {
    return answer<Answer, Record>(collect(records), records.size(), problem, act);
  }

  // Collective: what the rows of a file come to, from what they come to in the segments of each leader. Where
  // only sums are asked for the rest may be that of the own segment.
  enum class Totals : uint8_t { all, sums };
  std::vector<FileSums> add_up(std::span<const Segment> segments, std::span<const SegmentSums> own,
                               Totals totals = Totals::all);
  // Collective. What every leader knows, to all processes that talk to it, in the order of the leaders;
  // processes that lead nothing bring what is ignored.
  template <class Fact>
  std::vector<Fact> share(const Fact& mine) {
    static_assert(sizeof(Fact) % sizeof(int64_t) == 0);
    std::vector<int64_t> values(static_cast<size_t>(leaders()) * sizeof(Fact) / sizeof(int64_t));
    auto* facts = reinterpret_cast<std::byte*>(values.data());
    if (leads()) std::memcpy(facts + static_cast<size_t>(number_) * sizeof(Fact), &mine, sizeof(Fact));
    comm_->all_sum(values);
    std::vector<Fact> all(static_cast<size_t>(leaders()));
    std::memcpy(all.data(), facts, values.size() * sizeof(int64_t));
    return all;
  }

 private:
  int process_of(int leader) const {
    return static_cast<int>(root_ + int64_t{leader} * comm_->size() / leaders());
  }
  void find_own();

  Comm& all_;
  std::unique_ptr<Comm> slice_;  // rows by rank: those of a slice, if there are several
  Comm* comm_;                   // this process and its leaders
  const Slicing slicing_;
  int root_ = 0;
  int slices_ = 1;
  int64_t rows_per_slice_ = 0;   // 0: rows anywhere
  std::vector<int64_t> begins_;  // rows anywhere: of the slice of each leader, and the end of the last
  int number_ = -1;
  int64_t first_ = 0;
  int64_t count_ = 0;
};

// The records that a leader got, one behind the other.
template <class Record>
std::vector<Record> records_of(const Gathered& collected) {
  std::vector<Record> records(collected.bytes.size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), collected.bytes.data(), collected.bytes.size());
  return records;
}

template <class Answer, class Record, class Act>
std::vector<Answer> RowSlices::answer(const Gathered& collected, size_t mine, std::optional<Error>& problem,
                                      Act&& act) {
  Gathered answers;
  attempt(problem, [&] {
    const std::vector<Answer> found = act(records_of<Record>(collected));
    const auto bytes = std::as_bytes(std::span(found));
    answers = {{bytes.begin(), bytes.end()}, collected.sizes};
    for (int64_t& size : answers.sizes) size = size / int64_t{sizeof(Record)} * int64_t{sizeof(Answer)};
  });
  const std::vector<std::byte> bytes = answer(std::move(answers));
  std::vector<Answer> own(mine);
  if (!bytes.empty()) std::memcpy(own.data(), bytes.data(), std::min(bytes.size(), mine * sizeof(Answer)));
  return own;
}

// A process's share of the tasks of a physical file.
struct FileShare {
  int32_t file;
  int64_t tasks;
};

// Collective: visit(file, tasks of all processes, row of its first task) for every file in order. `mine`
// ascending by file. Bounded memory whatever the number of files.
void for_each_file(Comm& comm, int32_t nfiles, std::span<const FileShare> mine,
                   const std::function<void(int32_t file, int64_t tasks, int64_t first_row)>& visit);

// Adds the part of a file that lies in the slice to `segments`.
void add_segment(std::vector<Segment>& segments, const RowSlices& slices, int32_t file, int64_t tasks,
                 int64_t first_row);

}  // namespace sheaf

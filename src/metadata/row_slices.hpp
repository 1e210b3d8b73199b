// metadata/row_slices: the arrays of a whole multifile as one table with a row per task, in the order of
// (physical file, local rank), dealt out in slices of consecutive rows to a few leaders. For processes that
// need rows anywhere in it (mapped access): every process talks to every leader, none holds more than its own
// rows and its slice.
//
// As many leaders as metadata/parallel_open.hpp gives to a file of so many tasks; an exchange is one gather
// or scatter per leader.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

// Where slices may begin.
enum class Slicing : uint8_t {
  groups,  // at groups of 1024 tasks of a file, which then are in one hand
  files,  // where a file does: all metadata of a file are in one hand, where two hosts may not write one unit
          // of it
  whole,  // one leader, process 0, has all rows
};

class RowSlices {
 public:
  // Local; the same `rows` on all tasks of `comm`, which outlives the object. Slices are multiples of 1024
  // rows but for the last that has any.
  RowSlices(Comm& comm, int64_t rows, Slicing slicing = Slicing::groups);
  // Local; to be called for all physical files in order, on all tasks alike: moves slices that begin within a
  // file of `tasks` rows from `first_row` on to where slices may begin.
  void align_to_file(int64_t first_row, int64_t tasks);

  int64_t first() const { return first_; }  // row of the slice this process leads
  int64_t count() const { return count_; }  // rows of it; 0 if it leads none
  int leaders() const { return leaders_; }
  int64_t largest() const;  // rows of the largest slice
  int leader_of(int64_t row) const;
  int number() const { return number_; }  // of this process among the leaders, or -1

  // Collective. Brings `records`, ascending by their member `row`, to the leaders of those rows. What a
  // leader gets is ordered by process; sizes are the bytes of each process. Empty elsewhere.
  template <class Record>
  Gathered collect(std::span<const Record> records) {
    std::vector<std::span<const std::byte>> pieces;
    for (int l = 0; l < leaders_; ++l) {
      size_t n = 0;
      while (n < records.size() && leader_of(records[n].row) == l) ++n;
      pieces.push_back(std::as_bytes(records.first(n)));
      records = records.subspan(n);
    }
    return collect_pieces(pieces);
  }
  Gathered collect_pieces(std::span<const std::span<const std::byte>> piece_of_leader);
  // The same for one leader alone.
  Gathered collect_piece(int leader, std::span<const std::byte> piece) {
    return comm_.gather(piece, process_of(leader));
  }

  // Collective, the reverse: one piece per process at each leader. Returns the pieces for this process in the
  // order of the leaders. A leader that failed may bring pieces of any size, also none; an agreement must
  // follow.
  std::vector<std::byte> answer(Gathered pieces);

  // Collective. What every leader knows, to all processes, in the order of the leaders; processes that lead
  // nothing bring what is ignored.
  template <class Fact>
  std::vector<Fact> share(const Fact& mine) {
    static_assert(sizeof(Fact) % sizeof(int64_t) == 0);
    std::vector<int64_t> values(static_cast<size_t>(leaders_) * sizeof(Fact) / sizeof(int64_t));
    auto* facts = reinterpret_cast<std::byte*>(values.data());
    if (number_ >= 0) std::memcpy(facts + static_cast<size_t>(number_) * sizeof(Fact), &mine, sizeof(Fact));
    comm_.all_sum(values);
    std::vector<Fact> all(static_cast<size_t>(leaders_));
    std::memcpy(all.data(), facts, values.size() * sizeof(int64_t));
    return all;
  }

 private:
  int process_of(int leader) const;
  void find_own();

  Comm& comm_;
  const Slicing slicing_;
  int leaders_;
  std::vector<int64_t> begins_;  // of each slice, and the end of the last
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

// The rows of one physical file in a slice.
struct Segment {
  int32_t file = 0;
  int32_t fsblksize = 0;
  int64_t first = 0;  // local rank of the first
  int64_t count = 0;
  int64_t file_tasks = 0;  // of the whole physical file
  int64_t skip = 0;        // sum of the chunk sizes of the whole physical file
};

// What the first and the last segment of a slice add to a file that goes on in other slices.
struct Border {
  int64_t first_file = -1;
  int64_t head = 0;
  int64_t last_file = -1;
  int64_t tail = 0;
};
Border border_of(std::span<const Segment> segments, std::span<const int64_t> value_of_segment);

// Folds `add` over the values of the file in slices before and behind that of leader `number`.
int64_t fold_before(std::span<const Border> all, int number, int64_t file, int64_t start,
                    const std::function<int64_t(int64_t, int64_t)>& add);
int64_t fold_behind(std::span<const Border> all, int number, int64_t file, int64_t start,
                    const std::function<int64_t(int64_t, int64_t)>& add);

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

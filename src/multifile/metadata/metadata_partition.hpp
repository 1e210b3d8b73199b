// multifile/metadata/metadata_partition: the arrays of physical files as one table with a row per task. The
// table is partitioned into slices of consecutive rows. Each slice is held by one of a few metadata tasks,
// called metadata writers while the multifile is written. Every process holds its own rows. A metadata task
// also holds those of its slice.
//
// There are two kinds of tables. In a table of rows anywhere (mapped access), a process may have any rows.
// The rows are ordered by (physical file, local rank). Every process communicates with every metadata task;
// an exchange is one gather or scatter per metadata task. A table of rows by rank (one task per process) has
// the rows of one group, in which each process has the row of its rank. A process communicates only with the
// metadata task of its slice, in a communicator of the slice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/packing.hpp"

namespace sheaf::multifile {

// Positions at which slices may start.
enum class Slicing : uint8_t {
  groups,  // at groups of 1024 tasks of a file, so that one metadata task has a whole group
  files,  // at the first task of a file, so that one metadata task has all metadata of a file; used where two
          // hosts must not write within one shared granularity
  whole,  // one slice with all rows
};

// The rows of one physical file in a slice.
struct Segment {
  int32_t file = 0;
  int32_t fsblksize = 0;
  int64_t first = 0;  // local rank of the first row
  int64_t count = 0;
  int64_t file_tasks = 0;  // tasks of the whole physical file
  int64_t skip = 0;        // sum of the chunk sizes of the whole physical file
  size_t row = 0;          // number of the first row in the slice

  size_t end() const { return row + static_cast<size_t>(count); }
  // Returns the entries of the segment in `column`. The column has an entry for each row of the slice, or for
  // its first rows, up to the segment or beyond.
  template <class Entry>
  std::span<Entry> of(std::span<Entry> column) const {
    return column.subspan(row, static_cast<size_t>(count));
  }
  template <class Entry>
  std::span<const Entry> of(const std::vector<Entry>& column) const {
    return of(std::span<const Entry>(column));
  }
};

// Sum and maximum of a number over the rows of a segment. Sums saturate at 2^63 - 1.
struct SegmentSums {
  int64_t sum = 0;
  int64_t largest = 0;
};
// Sum and maximum of a number over the rows of a physical file.
struct FileSums {
  int64_t before = 0;  // sum over the rows before the segment
  int64_t sum = 0;     // over all rows
  int64_t largest = 0;
};

class MetadataPartition {
 public:
  // Partitions a table of rows anywhere. Local, but all tasks of `comm`, which must outlive the object, must
  // pass the same `rows`. Every slice with rows except the last has a multiple of 1024 rows. If there is only
  // one metadata task, it is `root`.
  MetadataPartition(Comm& comm, int64_t rows, Slicing slicing = Slicing::groups, int root = 0);
  // Partitions a table of rows by rank. Collective over `comm`, which must outlive the object. With
  // Slicing::whole, the metadata task is `root`.
  MetadataPartition(Comm& comm, Slicing slicing, int root = 0);
  // Moves the slices of rows anywhere that begin within a file to positions that the Slicing permits. The
  // file has `tasks` rows from `first_row` on. Local, but all tasks must call it alike for all physical files
  // in order.
  void align_to_file(int64_t first_row, int64_t tasks);

  int64_t first() const { return first_; }  // first row of this process's slice
  int64_t count() const { return count_; }  // number of its rows; 0 if this process is no metadata task
  bool is_metadata_writer() const { return number_ >= 0; }
  // Returns the number of metadata tasks that this process communicates with.
  int metadata_writers() const { return by_rank() ? 1 : static_cast<int>(std::ssize(begins_)) - 1; }
  int metadata_writer_of(int64_t row) const {
    if (begins_.empty()) return 0;
    return static_cast<int>(std::upper_bound(begins_.begin() + 1, begins_.end() - 1, row) - begins_.begin()) -
           1;
  }
  // Returns the number of rows in the largest slice of metadata_writers().
  int64_t largest() const {
    int64_t most = by_rank() ? comm_->size() : 0;
    for (size_t l = 0; l + 1 < begins_.size(); ++l) most = std::max(most, begins_[l + 1] - begins_[l]);
    return most;
  }
  int number() const { return number_; }  // index of this process among the metadata tasks, or -1
  bool by_rank() const { return rows_per_slice_ > 0; }
  // For rows by rank: return the number of slices, and the rows of each except the last.
  int slices() const { return slices_; }
  int64_t rows_per_slice() const { return rows_per_slice_; }

  // Sends `records`, ascending by their member `row`, to the metadata tasks of the rows. Collective. Returns
  // at each metadata task the records ordered by process, with the bytes of each process as sizes; returns
  // nothing on other processes.
  template <class Record>
  Gathered collect(std::span<const Record> records) {
    SHEAF_DEBUG_ASSERT(std::ranges::is_sorted(records, {}, &Record::row));
    return collect_pieces([&](int metadata_writer) {
      const auto end = std::ranges::find_if(
          records, [&](const Record& r) { return metadata_writer_of(r.row) != metadata_writer; });
      const auto piece = records.first(static_cast<size_t>(end - records.begin()));
      records = records.subspan(piece.size());
      return std::as_bytes(piece);
    });
  }
  // Like collect(), with piece_of(leader) as the bytes for each metadata task. Calls piece_of() in the order
  // of metadata tasks.
  template <class PieceOf>
  Gathered collect_pieces(PieceOf&& piece_of) {
    Gathered mine;
    for (int l = 0; l < metadata_writers(); ++l) {
      Gathered all = collect_piece(l, piece_of(l));
      if (l == number_) mine = std::move(all);
    }
    return mine;
  }
  // Like collect_pieces(), for the metadata task `metadata_writer` only.
  Gathered collect_piece(int metadata_writer, std::span<const std::byte> piece) {
    return comm_->gather(piece, process_of(metadata_writer));
  }

  // Reverse of collect(): sends one piece from each metadata task to each process. Collective. Returns the
  // pieces for this process in the order of metadata tasks. If a metadata task fails, it may send pieces of
  // any size, or none; an agreement must follow.
  std::vector<std::byte> answer(Gathered pieces);
  // Answers collected records. At metadata tasks, act(records) returns one answer per record, in the same
  // order. Returns the answers to the `mine` records of this process. An error of act() goes to `problem`
  // unless that is set already; missing answers are zeros.
  template <class Answer, class Record, class Act>
  std::vector<Answer> answer(const Gathered& collected, size_t mine, std::optional<Error>& problem,
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
  // Performs collect() and answer() in one call.
  template <class Answer, class Record, class Act>
  std::vector<Answer> ask(std::span<const Record> records, std::optional<Error>& problem, Act&& act) {
    return answer<Answer, Record>(collect(records), records.size(), problem, act);
  }

  // Members of FileSums that add_up() must compute: all, or all but `largest`.
  enum class WantedSums : uint8_t { all, sums };
  // Returns the sums over the physical file of each of `segments`, the segments of this metadata task. `own`
  // contains the sums over these segments. Collective. With WantedSums::sums, `largest` may be that of the
  // segment.
  std::vector<FileSums> add_up(std::span<const Segment> segments, std::span<const SegmentSums> own,
                               WantedSums totals = WantedSums::all);
  // Sends `mine` of every metadata task to all processes that communicate with it. Collective. Returns the
  // values in the order of metadata tasks. Ignores `mine` on processes that are no metadata tasks.
  template <class Fact>
  std::vector<Fact> share(const Fact& mine) {
    static_assert(sizeof(Fact) % sizeof(int64_t) == 0);
    std::vector<int64_t> values(static_cast<size_t>(metadata_writers()) * sizeof(Fact) / sizeof(int64_t));
    auto* facts = reinterpret_cast<std::byte*>(values.data());
    if (is_metadata_writer())
      std::memcpy(facts + static_cast<size_t>(number_) * sizeof(Fact), &mine, sizeof(Fact));
    comm_->all_sum(values);
    std::vector<Fact> all(static_cast<size_t>(metadata_writers()));
    std::memcpy(all.data(), facts, values.size() * sizeof(int64_t));
    return all;
  }

 private:
  int process_of(int metadata_writer) const {
    return static_cast<int>(root_ + int64_t{metadata_writer} * comm_->size() / metadata_writers());
  }
  void find_own() {
    if (!is_metadata_writer()) return;
    const auto n = static_cast<size_t>(number_);
    first_ = begins_[n];
    count_ = begins_[n + 1] - first_;
  }
  FileSums add_up_slices(SegmentSums mine, WantedSums totals);

  Comm& all_;
  std::unique_ptr<Comm> slice_;  // rows by rank: processes of the slice, if there are several slices
  Comm* comm_;                   // this process and its metadata tasks
  const Slicing slicing_;
  int root_ = 0;
  int slices_ = 1;
  int64_t rows_per_slice_ = 0;   // 0: rows anywhere
  std::vector<int64_t> begins_;  // rows anywhere: start of each slice, and the end of the last
  int number_ = -1;
  int64_t first_ = 0;
  int64_t count_ = 0;
};

// A process's number of tasks in a physical file.
struct FileShare {
  int32_t file;
  int64_t tasks;
};

// Calls visit(file, tasks of all processes, row of its first task) for every file in order. Collective.
// `mine` must be ascending by file. Memory is bounded for any number of files.
void for_each_file(Comm& comm, int32_t nfiles, std::span<const FileShare> mine,
                   const std::function<void(int32_t file, int64_t tasks, int64_t first_row)>& visit);

// Adds the part of a file that lies in the slice to `segments`.
void add_segment(std::vector<Segment>& segments, const MetadataPartition& slices, int32_t file, int64_t tasks,
                 int64_t first_row);

}  // namespace sheaf::multifile

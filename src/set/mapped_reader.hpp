// set/mapped_reader: a closed multifile read by any number of processes, each with several tasks, one of them
// current. Tasks are listed, also by several processes at once, or dealt out in blocks.
//
// Opening is collective: leaders read slices of the metadata arrays (row_slices.hpp) and answer whoever asks
// for a row. Reading is local. Task t of a set is where the mapping has it; that of a single physical file is
// local task t (docs/format.md: readers do not look at the mapping of a single file).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "mode/open_mode.hpp"
#include "set/duplicate_reader.hpp"
#include "set/mapped_slice.hpp"
#include "set/mapped_tasks.hpp"
#include "stream/plain_file.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

struct MappedReadRequest {
  std::string path;
  bool automatic = false;            // floor(M/P) consecutive tasks per process, the remainder to the last
  std::span<const int64_t> tasks{};  // else: those of this process
  NameOf name_of = {};
};

class MappedReader {
 public:
  // Collective over `comm`. The first task becomes current, at its first byte. Throws on every process alike.
  MappedReader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request,
               const OpenMode& mode)
      : MappedReader(store, std::move(comm), request, mode, {}) {}

  int64_t ntasks() const { return ntasks_; }                         // of the whole multifile
  std::span<const MappedTask> tasks() const { return mine_.tasks; }  // of this process
  int64_t task() const { return mine_.tasks.empty() ? -1 : mine_.tasks[current_].task; }  // the current one
  // Makes another task of this process current, where it was left. Throws out_of_range.
  void select(int64_t task);
  FileFacts facts() const { return facts_of_task(current_); }  // of the current task
  const std::string& path() const { return stream_.file().path(); }
  int open_files() const { return static_cast<int>(mine_.files.size()); }
  Comm& comm() { return *comm_; }
  ReadStream& stream() { return stream_; }
  OpenTask open_task(size_t index);  // of tasks(), for a duplicate
  // Of all tasks, read for this call: local.
  std::vector<layout::Placement> read_mapping();

  // Collective. Throws on every process alike; the object is closed all the same.
  void close();

 private:
  std::string name_of(int32_t number) const { return name_in_set(path_, number, name_of_); }
  friend class MappedWriter;  // which goes on from here to append
  // appends: keeps what leaders have read, in such slices.
  MappedReader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request,
               const OpenMode& mode, std::optional<Slicing> appends);
  struct Lead;
  Lead read_lead();
  void choose_tasks(const MappedReadRequest& request);
  void find_places(const Lead& lead);
  std::vector<FileShare> count_files();
  void find_rows(std::span<const FileShare> share, Slicing slicing);
  void read_rows(bool appends);
  void open_own_files();
  BlockSizes block_sizes(size_t index) const;
  SumsPlace sums_of(size_t index) const;
  FileFacts facts_of_task(size_t index) const;
  PlainFile& plain_file(size_t index);
  void make_current(size_t index);

  Store* store_;
  std::unique_ptr<Comm> comm_;
  std::string path_;
  NameOf name_of_;
  Checking checking_;
  FileFacts facts_;
  int64_t ntasks_ = 0;
  MappedTasks mine_;
  std::unique_ptr<RowSlices> rows_;
  std::vector<Segment> segments_;                  // of the slice this process leads, while opening
  std::unique_ptr<MappedSlice> slice_;             // what it has read of it, while opening
  std::vector<int64_t> block_sizes_;               // of all tasks of this process, one behind the other
  std::vector<std::pair<size_t, int32_t>> sizes_;  // of each task: first and number in block_sizes_
  std::vector<SumsPlace> sums_;                    // of each task
  std::vector<std::shared_ptr<PlainFile>>
      plain_;                            // of a compressed file: of each task that was current; else empty
  std::vector<ReadPosition> positions_;  // parked; the entry of the current task is stale
  std::shared_ptr<File> no_task_;        // what a process without tasks has for a file
  size_t current_ = 0;
  ReadStream stream_;
};

}  // namespace sheaf

// set/open_tasks: tasks of a multifile that a process has open to read, as many as it asked for. Any number
// of processes, which may have asked for the same tasks.
//
// Opening is collective: leaders read slices of the metadata arrays (metadata/row_slices) and answer whoever
// asks for a row. Task t of a set is where the mapping has it; that of a single physical file is local task t
// (docs/format.md: readers do not look at the mapping of a single file).
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
#include "set/own_tasks.hpp"
#include "set/set_tables.hpp"
#include "stream/plain_file.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// The end of the error for an open by another number of tasks than the multifile has.
inline constexpr const char* advice_on_other_numbers_of_tasks =
    "use as many, or a mapped open, which takes any number of processes: sion_paropen_mapped_mpi in C and "
    "C++, "
    "fsion_paropen_mapped_mpi in Fortran, mapped=True in Python";

struct MappedReadRequest {
  std::string path;
  bool automatic = false;            // consecutive tasks, as many on each process as on others or one more
  std::span<const int64_t> tasks{};  // else: those of this process
  NameOf name_of = {};
};

// The rows of the metadata, and those this process leads.
struct LedRows {
  std::unique_ptr<RowSlices> rows;  // by (file, local rank)
  std::vector<Segment> segments;    // of the slice this process leads
  std::unique_ptr<TableSlice> old;  // what it has read of it: what appending goes on from
};

class OpenTasks {
 public:
  // Collective over `comm`. Throws on every process alike. appends: keeps what leaders have read, in such
  // slices.
  OpenTasks(Store& store, Comm& comm, const MappedReadRequest& request, const OpenMode& mode,
            LedRows* appends = nullptr, Slicing slicing = Slicing::groups);
  // Local: one task, whose place, file and blocks the caller has found.
  OpenTasks(const FileFacts& facts, int64_t ntasks, int64_t task, int64_t file_tasks, Readable stored);

  int64_t ntasks() const { return ntasks_; }  // of the whole multifile
  const FileFacts& facts() const { return facts_; }
  FileFacts file_facts(size_t index) const;  // of the file of a task of this process
  // The task as it is stored.
  const Readable& stored(size_t index) const { return stored_[index]; }
  // The task as programs read it: of a compressed file, its plain bytes. Throws damaged.
  Readable readable(size_t index);
  int64_t bytes_held() const;
  // Of all tasks, read for this call: local. Empty if the tasks were not found by leaders.
  std::vector<layout::Placement> read_mapping() const;

  OwnTasks own;
  std::shared_ptr<File> no_task;  // what a process without tasks has for a file

 private:
  void choose_tasks(Comm& comm, const MappedReadRequest& request);
  void find_places(Comm& comm, const SetLead& lead, const std::shared_ptr<File>& lead_file);
  std::vector<FileShare> count_files(Comm& comm, const SetLead& lead);
  void find_rows(Comm& comm, std::span<const FileShare> share, Slicing slicing, LedRows& tables);
  void read_rows(Comm& comm, const SetLead& lead, LedRows& tables, bool appends);
  bool is_set() const { return facts_.nfiles > 1 && facts_.filenumber == 0; }
  int32_t files() const { return is_set() ? facts_.nfiles : 1; }

  std::unique_ptr<const SetTables> tables_;  // null: the caller has found the task
  FileFacts facts_;
  int64_t ntasks_ = 0;
  std::vector<Readable> stored_;
  std::vector<std::shared_ptr<PlainFile>> plain_;  // of a compressed file, of each task that was asked for
};

}  // namespace sheaf

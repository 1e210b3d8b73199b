// multifile/reader/open_tasks: the tasks of a multifile that a process has open for reading. Any number of
// processes may open any tasks, also the same ones.
//
// Open is collective: metadata tasks read slices of the metadata arrays
// (multifile/metadata/metadata_partition) and answer requests for rows. The mapping gives the place of task t
// of a set. In a single physical file, task t is local task t: readers ignore the mapping of a single file
// (docs/format.md, section 6).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/non_copyable.hpp"
#include "comm/comm.hpp"
#include "multifile/frames/plain_file.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/reader/local_tasks.hpp"
#include "multifile/reader/set_tables.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

// Last part of the error when a multifile is opened by another number of tasks than it has.
inline constexpr const char* advice_on_other_numbers_of_tasks =
    "use as many, or a mapped open, which takes any number of processes: sion_paropen_mapped_mpi in C and "
    "C++, "
    "fsion_paropen_mapped_mpi in Fortran, mapped=True in Python";

struct MappedReadRequest {
  std::string path;
  bool automatic = false;            // consecutive tasks, evenly distributed over the processes
  std::span<const int64_t> tasks{};  // unless automatic: tasks of this process
  NameOf name_of = {};
};

// The physical files that an attempt to open a multifile has opened, by number. Keeps the first ones open, so
// that later steps of the attempt do not open them again.
class FilesOfAttempt : private NonCopyable {
 public:
  explicit FilesOfAttempt(const SetTables& tables) : tables_(tables) {}
  void keep(int32_t number, std::shared_ptr<File> file) { kept_.emplace(number, std::move(file)); }
  // Returns the kept file, or opens it. Retries as SetTables::open() for an `existing` name, otherwise as
  // SetTables::open_member().
  std::shared_ptr<File> open(int32_t number, NameExpectation name);

 private:
  static constexpr size_t max_kept = 64;  // files: a process has at least 1024 descriptors

  const SetTables& tables_;
  std::map<int32_t, std::shared_ptr<File>> kept_;
};

class OpenTasks {
 public:
  // Opens the tasks of `request`. Collective over `comm`. Throws on every process alike. Unless `appends` is
  // null, stores there what this process has read as a metadata task, in slices as `slicing` says.
  OpenTasks(Store& store, Comm& comm, const MappedReadRequest& request, const OpenMode& mode,
            PartitionRows* appends = nullptr, Slicing slicing = Slicing::groups);
  // Opens one task after the caller has found its place, file and blocks. Local.
  OpenTasks(const FileFacts& facts, int64_t ntasks, int64_t task, int64_t file_tasks, Readable stored);

  int64_t ntasks() const { return ntasks_; }  // tasks of the whole multifile
  const FileFacts& facts() const { return facts_; }
  // Returns the facts of the file of a local task.
  FileFacts file_facts(size_t index) const {
    FileFacts facts = facts_;
    if (own.tasks.empty()) return facts;
    if (is_set()) facts.filenumber = own.tasks[index].place.file;
    facts.fsblksize = stored_[index].fsblksize;
    return facts;
  }
  // Returns the task as it is stored.
  const Readable& stored(size_t index) const { return stored_[index]; }
  // Returns the task as programs read it: the uncompressed bytes of a compressed file. Throws damaged.
  Readable readable(size_t index);
  int64_t bytes_held() const {
    return std::ssize(own.tasks) * static_cast<int64_t>(sizeof(OwnTask) + sizeof(Readable));
  }
  // Reads the places of all tasks. Local. Returns nothing if the caller had found the place of its task.
  std::vector<layout::Placement> read_mapping() const {
    return tables_ ? tables_->read_mapping() : std::vector<layout::Placement>();
  }

  LocalTasks own;
  std::shared_ptr<File> no_task;  // represents the file on a process without tasks

 private:
  void choose_tasks(Comm& comm, const MappedReadRequest& request);
  void find_places(Comm& comm, const SetLead& lead, const std::shared_ptr<File>& lead_file);
  std::vector<FileShare> count_files(Comm& comm, const SetLead& lead, FilesOfAttempt& opened);
  void find_rows(Comm& comm, std::span<const FileShare> share, Slicing slicing, PartitionRows& tables);
  std::vector<Readable> read_rows(Comm& comm, SetLead& lead, PartitionRows& tables, FilesOfAttempt& opened);
  void open_own_files(const SetLead& lead, FilesOfAttempt& opened, GenerationStore& generation);
  void take_rows(std::vector<Readable> rows);
  bool is_set() const { return facts_.nfiles > 1 && facts_.filenumber == 0; }
  int32_t files() const { return is_set() ? facts_.nfiles : 1; }

  std::unique_ptr<const SetTables> tables_;  // null: the caller has found the task
  FileFacts facts_;
  int64_t ntasks_ = 0;
  std::vector<Readable> stored_;
  std::vector<std::shared_ptr<PlainFile>> plain_;  // by task; set by readable() if compressed
};

}  // namespace sheaf::multifile

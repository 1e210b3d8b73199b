// multifile/reader/reader: a multifile open for reading, by one process or by many. Each process has any
// number of tasks, one of which is current.
//
// Open by many processes is collective: metadata tasks read slices of the metadata arrays and send every task
// its row. Reading is local, except for collective reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/assert.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"
#include "multifile/collective/collective_reader.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/metadata/physical_file.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/reader/open_tasks.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

class SHEAF_EXPORT Reader {
 public:
  // Opens all tasks in one process. The task tables are held in memory, or read again on demand.
  Reader(Store& store, const std::string& path, const OpenMode& mode);
  // Opens one task without loading the metadata of the others. `task` is its number in the set. Throws
  // out_of_range if the multifile has no such task.
  Reader(Store& store, const std::string& path, int64_t task, const OpenMode& mode);
  // Returns the resources of collective calls for a task of `local` in physical file `number`. Collective.
  using MeansOf = std::function<CollectiveMeans(Comm& all, Comm& local, int32_t number, int32_t nfiles)>;
  // Opens one task of a multifile that was loaded, in the files that are open there. `multifile` is not
  // needed afterwards. Throws out_of_range if it has no such task.
  Reader(const Multifile& multifile, int64_t task, const OpenMode& mode);
  // Opens one task per process, that of its rank. Collective over `comm`. Throws on every task alike;
  // throws out_of_range if the multifile has another number of tasks.
  //   name_of: names of the physical files, if they differ from those of docs/format.md.
  //   means_of: called, if the mode requests collective reading, when the file of this task is known.
  Reader(Store& store, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
         const NameOf& name_of = nullptr, const MeansOf& means_of = nullptr);
  // Opens any tasks. Collective over `comm`. Throws on every process alike.
  Reader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request, const OpenMode& mode);
  // Creates a second reader of the tasks that `original` has open, or of the task `only`. Its positions are
  // independent and begin at those of the original. Local. Shares the files of `original`, so it must be
  // destroyed before `original` is closed. Throws out_of_range if there is no such task, wrong_mode if the
  // original has all tasks.
  Reader(Reader& original, std::optional<int64_t> only);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Returns the number of tasks of the multifile.
  int64_t ntasks() const { return whole_ ? whole_->multifile.ntasks() : tasks_->ntasks(); }
  int64_t task() const { return current_.task; }  // the current task; -1: none in this process
  // Makes another task current, at its last position, initially its first byte. Throws out_of_range for a
  // task that this process has not open.
  void select(int64_t task);
  FileFacts facts() const;  // facts of the current task's file; of file 0 if this process has all tasks
  const std::string& path() const { return stream_.blocks().file().path(); }
  // Reads which generation the multifile is, from a file that this process has open. Local. Returns nullopt
  // if it has no extension header. Throws the errors of the file.
  std::optional<format::Identity> read_generation();
  // Returns the global rank of the current task, if opened alone.
  int64_t globalrank() const { return current_.globalrank; }
  ReadStream& stream() { return stream_; }
  StreamPosition position_of(int64_t task);
  int open_files() const;
  int64_t bytes_held() const;

  const Multifile* whole() const { return whole_ ? &whole_->multifile : nullptr; }  // null: not all tasks
  const Multifile& multifile() const {                                              // requires whole()
    SHEAF_ASSERT(whole_);
    return whole_->multifile;
  }
  // Returns the tasks of this process, or none if it has all tasks of the multifile.
  std::span<const OwnTask> tasks() const;
  // Reads the places of all tasks, if tasks were opened by their numbers.
  std::vector<layout::Placement> read_mapping() const;

  Comm* comm() { return comm_.get(); }                 // all processes; null: one process alone
  Comm& local() { return local_ ? *local_ : *comm_; }  // tasks of this physical file, one per process
  // Returns null if the tasks read independently.
  CollectiveReader* collective() { return collecting_.get(); }

  // Closes the multifile. Collective over the processes. Throws on every process alike; the object is closed
  // in any case.
  void close();

 private:
  struct Whole {
    explicit Whole(Multifile opened) : multifile(std::move(opened)), rows(multifile) {}
    Multifile multifile;
    TaskRows rows;
  };

  void begin_collective(const CollectivePlan& plan, CollectiveMeans means);

  size_t index_of(int64_t task) const;
  Readable find(int64_t task);
  void load(Readable found, int64_t task);

  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;       // null: comm_
  std::shared_ptr<Store> copies_;     // opens files of a group later; null: none
  std::unique_ptr<Whole> whole_;      // all tasks, or null
  std::shared_ptr<OpenTasks> tasks_;  // tasks of this process, if not whole_
  std::optional<int64_t> only_;       // the only task of a duplicate
  struct CurrentTask {
    int64_t task = -1;
    int32_t filenumber = 0;  // the other members are those of Readable
    int64_t globalrank = -1;
    std::shared_ptr<const void> held = {};
  } current_;
  ReadStream stream_;
  // Allocated when a second task becomes current.
  struct Left {
    std::unordered_map<int64_t, StreamPosition> positions;  // positions of tasks that are not current
    // Handles shared with the program, for each physical file but the current one. Once the program has a
    // handle, every task that becomes current gets one as well.
    std::map<int32_t, std::unique_ptr<StdioHandle>> handles;
  };
  std::unique_ptr<Left> left_;
  Left& left();  // allocated at the first call
  std::unique_ptr<CollectiveReader> collecting_;
};

}  // namespace sheaf::multifile

// set/reader: a multifile that is read, by a process alone or by many, each with any number of its tasks, one
// of them current.
//
// Opening by many processes is collective: leaders read slices of the metadata arrays and hand every task its
// row. Reading is local, but for the rounds of collective reading.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/export.hpp"
#include "collective/collective_reader.hpp"
#include "comm/comm.hpp"
#include "metadata/facts.hpp"
#include "metadata/parallel_open.hpp"
#include "metadata/physical_file.hpp"
#include "metadata/task_rows.hpp"
#include "mode/open_mode.hpp"
#include "set/open_tasks.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

class SHEAF_EXPORT Reader {
 public:
  // All tasks, for a process alone. Their tables are held, or read again where they are asked for.
  Reader(Store& store, const std::string& path, const OpenMode& mode);
  // One task, found without loading what belongs to the others. It counts over the whole set. Throws
  // out_of_range if the multifile has no such task.
  Reader(Store& store, const std::string& path, int64_t task, const OpenMode& mode);
  // As many processes as wrote it, each the task of its rank. Collective over `comm`. Throws on every task
  // alike, out_of_range if the multifile was written by another number of tasks. name_of: names of the
  // physical files, if they do not follow the format. means_of: gives what collective calls use, once it is
  // known that this task is one of `local` in physical file `number`; collective, called if the mode asks for
  // it.
  using MeansOf = std::function<CollectiveMeans(Comm& all, Comm& local, int32_t number, int32_t nfiles)>;
  Reader(Store& store, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
         const NameOf& name_of = nullptr, const MeansOf& means_of = nullptr);
  // Any tasks. Collective over `comm`. Throws on every process alike.
  Reader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request, const OpenMode& mode);
  // A second reader of what `original` has open, of one task or of all, with positions of its own, which
  // begin where the original stands. Made and released locally, before the original is closed, whose files it
  // shares. Throws out_of_range if there is no such task, wrong_mode if the original has all tasks.
  Reader(Reader& original, std::optional<int64_t> only);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  int64_t ntasks() const {
    return whole_ ? whole_->multifile.ntasks() : tasks_->ntasks();
  }                                       // of the multifile
  int64_t task() const { return task_; }  // the current one; -1: this process has none
  // Makes another task current, where it was left; at first its first byte. Throws out_of_range for a task
  // that is not open here.
  void select(int64_t task);
  FileFacts facts() const;  // of the current task; of a process that has all tasks, those of file 0
  const std::string& path() const { return stream_.file().path(); }
  int64_t globalrank() const { return globalrank_; }  // of the current task, if opened alone
  ReadStream& stream() { return stream_; }
  ReadPosition position_of(int64_t task);
  int open_files() const;
  int64_t bytes_held() const;

  const Multifile* whole() const { return whole_ ? &whole_->multifile : nullptr; }  // null: not all tasks
  const Multifile& multifile() const { return whole_->multifile; }                  // which must be there
  // Those of this process; none if it has all.
  std::span<const OwnTask> tasks() const;
  // Of all tasks, if they were opened by their numbers.
  std::vector<layout::Placement> read_mapping() const;

  Comm* comm() { return comm_.get(); }                 // of all processes; null: alone
  Comm& local() { return local_ ? *local_ : *comm_; }  // tasks of this physical file, one per process
  CollectiveReader* collective() {
    return collecting_ ? collecting_->reader.get() : nullptr;
  }  // null if the tasks read on their own

  // Collective over the processes. Throws on every one alike; the object is closed all the same.
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
  std::shared_ptr<Store> copies_;     // what opens files of a group later; null: nothing
  std::unique_ptr<Whole> whole_;      // all tasks
  std::shared_ptr<OpenTasks> tasks_;  // else: these
  std::optional<int64_t> only_;       // of a duplicate: the only task it gives access to
  int64_t task_ = -1;
  int32_t filenumber_ = 0;            // of the current task, in its set
  int64_t globalrank_ = -1;           // as in Readable
  std::shared_ptr<const void> held_;  // the same
  ReadStream stream_;
  // Once another task was current.
  struct Left {
    std::unordered_map<int64_t, ReadPosition> positions;  // of tasks that were left, but for the current one
    // What the program shares of each physical file that is not the current one's. Once the program has one,
    // every task that becomes current gets one.
    std::map<int32_t, std::unique_ptr<StdioHandle>> handles;
  };
  std::unique_ptr<Left> left_;
  Left& left();  // made if need be
  struct Collecting {
    CollectiveMeans means;
    std::unique_ptr<CollectiveReader> reader;
  };
  std::unique_ptr<Collecting> collecting_;
};

}  // namespace sheaf

// multifile/writer/opened_set: a multifile that is open for writing, as the functions that open it return it
// (multifile/writer/open_to_write). It holds all that writing and closing need. What differs between the
// kinds of open is data here.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/comm.hpp"
#include "format/save_record.hpp"
#include "multifile/collective/collective_writer.hpp"
#include "multifile/create/new_file.hpp"
#include "multifile/frames/compressed_writer.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/reader/local_tasks.hpp"
#include "multifile/reader/open_tasks.hpp"
#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile {

// Optional state is allocated separately, because every task of a file has an OpenedSet.

// State of a multifile that is written collectively.
struct CollectiveWriteState {
  CollectivePlan plan;
  int buddies = 0;              // copies to make at close
  int32_t fsblksize = 0;        // given, or of the file system; the file may have a smaller one
  bool chooses_blocks = false;  // the library chooses the block size
  CollectiveMeans means = {};
  Nodes nodes = {};
  std::shared_ptr<AggregatedWriteFile> file = nullptr;
  // Null before the groups are formed, and during the close.
  std::unique_ptr<CollectiveWriter> writer = nullptr;
};

// The tasks of this process, and what writes their bytes.
struct TasksToWrite : LocalTasks {
  std::vector<TaskBlocks> blocks;                // parked, by index; the entry of the current task is stale
  std::unique_ptr<WriteStream> stream;           // the current task; stores bytes in the physical file
  std::unique_ptr<CompressedWriter> compressed;  // null: bytes are stored as written
  std::unique_ptr<CollectiveWriteState> collecting;  // null: the tasks write independently
  int64_t buffer_bytes = 0;                          // see OpenMode

  // Returns the stream that the program writes to. It takes uncompressed bytes.
  WriteStream& plain() const { return compressed ? compressed->stream() : *stream; }
  // Lets the stream write to a physical file. The stream must be flushed.
  void bind(const OwnFile& file) {
    stream->bind(file.file, OpenMode::buffer_in_bytes(buffer_bytes, file.fsblksize));
    stream->target().know_file(file.key);
  }
  // Binds the stream to the file of the first task, if any.
  void bind_first() {
    if (!files.empty()) bind(files[tasks.empty() ? 0 : tasks[0].file]);
  }
};

// The hosts that write a physical file, and what they must keep apart.
struct WritingHosts : JournalHosts {
  int64_t unit = 0;           // shared granularity in bytes; 0: no limits on what hosts write
  bool own_caches = false;    // see JournalKey
  bool keeps_chunks = false;  // see ParallelWriteRequest
};

// Values for the metadata and the close that depend on how the multifile was opened.
struct ClosingTerms {
  int32_t kept_files = 0;        // this process keeps its first files open until they are complete
  int32_t mapping_entries = -1;  // entries of the mapping field in file 0; -1: no such field
  int32_t unused = 0;            // value stored for rounds that a task has not used
  bool is_blockwise = false;     // layout::place_blockwise() gives the entries of the mapping
};

// The metadata of a multifile whose processes have any number of tasks.
struct PlacedTables : PartitionRows {
  std::optional<format::Extension> extension;       // of new files
  std::optional<std::vector<int64_t>> globalranks;  // as stored in the files, if one process writes all tasks
  std::vector<StreamPosition> ends_before;     // appending: earlier end of the stream of each task, by index
  std::unique_ptr<MetadataPartition> numbers;  // by task number; null: no mapping
  std::vector<layout::Placement> mapping;      // places of the tasks in this process's slice
  std::vector<MoreSection> names;              // appending: sections with names of tasks; at process 0 only

  // Returns true if one process writes all tasks, and their global ranks are 0, 1, 2, ...
  bool ranks_are_task_numbers() const {
    return globalranks &&
           std::ranges::equal(*globalranks, std::views::iota(int64_t{0}, std::ssize(*globalranks)));
  }
};

// The last step of a close, left to the caller (docs/async.md): this process has written everything but these
// marks of the files for which it is the first metadata writer.
struct DeferredCompletion {
  std::vector<format::CompletionMark> marks;
  format::Identity identity{};  // of the set; set by the close on every process that has marks
};

struct CreatedFiles {
  std::vector<std::string> created;  // files that this open created
  // Files renamed to make room for new ones: original and current name.
  std::vector<std::pair<std::string, std::string>> aside;
  std::unique_ptr<DeferredCompletion> deferred;  // null: the close completes the files
};

struct WriterRights {
  std::shared_ptr<Ownership> ownership;    // null: held by another task, or none was acquired
  std::shared_ptr<WritingRight> to_write;  // appending; null: the multifile has no lease
  std::exception_ptr lost;                 // why the files must not be written any more
};

struct SetComms {
  std::unique_ptr<Comm> comm;        // all processes
  std::unique_ptr<Comm> files_comm;  // see OpenedSet::local(); null: comm
};

// SetComms is the first base class, because communicators must outlive what uses them.
struct OpenedSet : SetComms, TasksToWrite {
  std::string path;
  std::unique_ptr<const NameOf> names;  // null: names as in docs/format.md
  FileFacts facts;
  WritingHosts hosts;
  int64_t ntasks = 0;  // over all processes
  ClosingTerms terms;
  std::unique_ptr<PlacedTables>
      placed;  // null: every process has one task, and its row is its rank in local()
  std::unique_ptr<WriterRights> rights;  // null: neither ownership nor lease
  std::unique_ptr<CreatedFiles> made;    // null: no files created or renamed, and nothing deferred

  Store& store() const { return stream->target().store(); }
  // Returns all tasks that write the physical files of this process.
  Comm& local() const { return files_comm ? *files_comm : *comm; }
  // Returns what the close leaves to the caller; null: nothing.
  DeferredCompletion* deferred() const { return made ? made->deferred.get() : nullptr; }
  std::string name_of(int32_t number) const {
    return names ? name_in_set(path, number, *names) : format::physical_name(path, number);
  }
  // While appending, returns the earlier contents of the slice at its metadata writer; otherwise null.
  const TableSlice* old() const { return placed ? placed->old.get() : nullptr; }
};

// Returns `state`, which is allocated at the first call.
template <class State>
State& made_if_null(std::unique_ptr<State>& state) {
  if (!state) state = std::make_unique<State>();
  return *state;
}

// Returns a set without tasks and files. Local. `store` must outlive it.
OpenedSet begin_set(Store& store, std::unique_ptr<Comm> comm, std::string path, NameOf names,
                    const OpenMode& mode);
// Creates a physical file or opens an existing one, without truncating. `stored_name` is empty or the name
// stored in the files. Local.
NewFile create_in_set(OpenedSet& set, int32_t number, std::string_view stored_name, OldFile old);
// Removes the files that create_in_set() has renamed. Must be called when the open has reached the point at
// which it truncates existing files. Local.
void drop_set_aside(OpenedSet& set);
// Undoes the open: removes the files that it created and leaves files opened for appending unchanged. Local;
// called on every process, before the first write.
void undo_open(OpenedSet& set);
void require_tasks_for_files(const OpenedSet& set);
// Returns the average number of tasks per host, at least 1. Collective.
int64_t tasks_per_node(Comm& comm);
// Begins compression. The codec must be available. `neighbours` is the number of tasks that share the host's
// cores.
void compress(OpenedSet& set, const codec::Compression& how, int64_t neighbours);

// Returns the header of a physical file of the set.
format::Header header_of(const OpenedSet& set, int32_t file, int64_t file_tasks, int32_t fsblksize);
// Returns the file if this process keeps it open during the close, else null. A process with all tasks keeps
// all files open, and the first task of a group its file. They write the open file even if its name was
// removed or replaced.
const OwnFile* kept_open(const OpenedSet& set, int32_t file);
enum class Outlives : uint8_t { process, host };
// Runs change(file, header) on the metadata of a physical file, and makes the changes survive the end of the
// process, or also the loss of the host. Local.
void change_file(const OpenedSet& set, const Segment& segment,
                 const std::function<void(File&, const format::Header&)>& change,
                 Outlives what = Outlives::process);
// Writes a metadata writer's part of META1, including the mark, so that each page has one writer. Local.
void write_metadata(const OpenedSet& set, std::span<const Segment> segments,
                    std::span<const RequestedRow> rows, std::string_view stored_name,
                    const std::optional<format::Extension>& extension);
// Records blocks in a journal that no other task has written to (JournalWriter::report_all). Local.
void record_blocks(const OpenedSet& set, File& file, const JournalKey& key, int64_t first,
                   std::span<const int64_t> counts,
                   const std::function<int64_t(size_t task, int64_t block)>& size_of);
// Throws unless `file`, opened by its name, has this identity. If `identity` is zeros, which means none,
// accepts any file.
void require_same_file(File& file, const format::Identity& identity);

}  // namespace sheaf::multifile

// multifile/writer/writer: a multifile open for writing, by one process or by many. Each process has any
// number of tasks, one of which is current.
//
// Open and close are collective; writing is local. A few metadata writers gather the rows of the metadata,
// and each writes a slice of them. No process holds the rows of all tasks. A file is marked as complete only
// after the bytes of every task and the block tables are written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "layout/regions.hpp"
#include "multifile/collective/collective_writer.hpp"
#include "multifile/create/new_file.hpp"
#include "multifile/frames/compressed_writer.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/metadata/boundary_blocks.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/metadata/slice_sums.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/reader/local_tasks.hpp"
#include "multifile/reader/open_tasks.hpp"
#include "multifile/stream/failed_writes.hpp"
#include "multifile/stream/overruns.hpp"
#include "multifile/stream/write_stream.hpp"
#include "multifile/writer/ended_segment.hpp"

namespace sheaf::multifile {

// Request of one process that writes all tasks.
struct SerialWriteRequest {
  std::string path;
  std::span<const int64_t> chunk_sizes;  // requested bytes per task, >= 0
  std::span<const int64_t> globalranks;  // one per task, any values
  int32_t fsblksize = -1;                // bytes; <= 0: the file system's block size
  bool keep_sizes = false;               // stores the sizes unchanged instead of rounding them up to blocks
  std::string stored_name = {};          // name stored in the files; empty: `path`
  // Number of physical files, > 0, filled with consecutive tasks. The open mode (files=) takes precedence.
  int32_t nfiles = 1;
};

// Request of a process that writes one task, as all processes of the multifile do.
struct ParallelWriteRequest {
  std::string_view path;              // outlives the open
  std::string_view stored_name = {};  // name stored in the files; outlives the open; empty: `path`
  // Number of physical files, filled with consecutive tasks. <= 0: one file per `local` group. The open mode
  // (files=) takes precedence.
  int32_t nfiles = 1;
  // Group of this task if nfiles <= 0; null: all tasks form one group.
  std::unique_ptr<Comm> local;
  // >= 0: the caller has assigned the tasks to files. `local` then holds the tasks of physical file
  // `filenumber` of `nfiles`, and the open mode (files=) is ignored. Set on all tasks or on none.
  int32_t filenumber = -1;
  NameOf name_of = {};         // null: names as in docs/format.md
  CollectiveMeans means = {};  // resources of collective calls
  int64_t chunk_size = 0;      // requested bytes of this task, >= 0
  int32_t fsblksize = -1;      // bytes; <= 0: the file system's block size
  bool keeps_chunks = false;   // chunk sizes stay as requested, without space to separate hosts
};

// A task with a place (file, local rank) chosen by the caller.
struct MappedWriteTask {
  int64_t globalrank = 0;  // 0..M-1 over all processes, each once
  int64_t chunk_size = 0;  // requested bytes, >= 0
  layout::Placement place;
};

struct MappedWriteRequest {
  std::string path;
  int32_t nfiles = 0;  // > 0
  // Bytes; <= 0: block size of the file system, as found by the process with local rank 0.
  int32_t fsblksize = -1;
  std::span<const MappedWriteTask> tasks;  // tasks of this process, may be empty
  NameOf name_of = {};
  std::string stored_name = {};  // name stored in the files; empty: `path`
};

// A complete multifile to which the processes append.
struct MappedAppendRequest {
  MappedReadRequest tasks;                   // tasks of this process; a task belongs to at most one process
  int64_t ntasks = 0;                        // required number of tasks of the multifile; 0: any
  std::shared_ptr<WritingRight> right = {};  // set at the first task; the others use OpenMode::lease
};

class BlockTable;

class Writer {
 public:
  // Creates a multifile in one process, and makes its first task current. Every constructor throws on every
  // process alike, and changes nothing on disk if an argument is invalid. If the open fails, removes the
  // files it created. Existing files are truncated only after all files could be opened.
  Writer(Store& store, const SerialWriteRequest& request, const OpenMode& mode);
  // Creates a multifile with one task per process. Collective over `comm`, after agree_on_call() for `mode`.
  Writer(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request, const OpenMode& mode);
  // Creates a multifile with tasks placed by the caller. Collective, after agreement on `mode`, path, nfiles
  // and fsblksize. Throws invalid_argument if places or global ranks have gaps or duplicates.
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request, const OpenMode& mode);
  // Opens a multifile to append, collective over `comm` like OpenTasks. Every task is positioned at the end
  // of its stream. Changes nothing on disk. Also throws unsupported, mismatch or unclosed for a multifile
  // that does not permit appending (docs/api-sion.md, "Append").
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request, const OpenMode& mode);

  int64_t ntasks() const { return ntasks_; }                      // over all processes
  std::span<const OwnTask> tasks() const { return mine_.tasks; }  // of this process
  int64_t task() const {                                          // number of the current task; -1: none
    const size_t index = compressed_ && compressed_->left ? *compressed_->left : current_;
    return mine_.tasks.empty() ? -1 : mine_.tasks[index].task;
  }
  // Makes another task of this process current, at its last position. Throws out_of_range.
  void select(int64_t task);
  FileFacts facts() const;  // facts of the current task
  // Returns the path of the current task's file.
  const std::string& path() const { return stream_.target().file().path(); }
  const std::string& base_name() const { return path_; }  // name of the set
  int open_files() const { return static_cast<int>(mine_.files.size()); }
  int64_t bytes_held() const;
  Comm* comm() { return comm_.get(); }                 // all processes
  Comm& local() { return local_ ? *local_ : *comm_; }  // tasks of this physical file
  // Returns the stream that the program writes to. It takes uncompressed bytes.
  WriteStream& stream() { return compressed_ ? compressed_->stream() : stream_; }
  // Returns what the program has written to a task of this process, before compression.
  const TaskBlocks& blocks_of(int64_t task);
  std::span<const int64_t> globalranks() const { return placed_->globalranks; }  // if is_alone()
  bool is_alone() const { return alone_; }
  // Returns null if the tasks write independently.
  CollectiveWriter* collective() { return collecting_ ? collecting_->writer.get() : nullptr; }
  // Calls CollectiveWriter::write(). Collective over the tasks of the physical file. Requires collective().
  void write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Runs act(), which appends the bytes of one call of the program (`head` and `body`) to the current task's
  // stream. Throws what act() throws. After a failure, commit() and close() fail until the task's stream
  // continues with the same bytes (multifile/stream/failed_writes).
  template <class Act>
  void append(std::span<const std::byte> head, std::span<const std::byte> body, Act&& act) {
    const FailedWrites::WriteRequest request{stray_.why ? stray_.task : task(), head, body};
    try {
      if (const auto problem = attempt([&] { stray_.why ? std::rethrow_exception(stray_.why) : act(); }))
        refuse(request, *problem);
    } catch (const std::bad_alloc&) {  // no memory for the error object
      failed_.fail_unremembered(request);
      throw;
    }
    if (failed_.any()) failed_.accept(request);
  }
  // Records that the program could not select `task` of this process. append() throws `why` until a select()
  // succeeds, so that no bytes reach the wrong task. Must not be called in collective writing.
  void stray(int64_t task, const Error& why) noexcept { stray_ = {task, std::make_exception_ptr(why)}; }
  // Returns true if an append() or select() failed and was not repeated. Then all bytes must pass append().
  bool awaits_retry() const { return stray_.why || failed_.any(); }
  // Sets the right to write the multifile, at the first task. Flush and close fail once it is lost.
  void own(std::shared_ptr<Ownership> ownership) {
    if (ownership || right_) right().ownership = std::move(ownership);
  }

  // Writes all bytes of the tasks of this process to the files, so that they survive the end of the program
  // (WriteStream::commit). Local. Throws afterwards if an append() has failed and was not repeated.
  void commit();

  // Sets new chunk sizes before the first write. Collective. Throws wrong_mode on every task if any task has
  // written, or unless each process has exactly one new task.
  void resize_chunks(int64_t chunk_size);

  // Closes the multifile. Collective. Throws on every process alike, also after a failed append() on any
  // process. The object is closed in any case; after an error the files stay unclosed.
  void close();
  // Undoes the open instead of close(). Local; called on every process, before the first write. Removes the
  // files that the open created and leaves files opened for appending unchanged.
  void discard();

 private:
  std::vector<layout::Placement> place_alone(int32_t nfiles, const OpenMode& mode);
  // Sets the members that all kinds of open need. The public constructors call it first.
  Writer(Store& store, std::unique_ptr<Comm> comm, std::string path, NameOf name_of, const OpenMode& mode);

  // Functions for tasks at places of the caller's choice.
  void open_placed(const MappedWriteRequest& request, const OpenMode& mode);
  void check(const MappedWriteRequest& request) const;
  void require_tasks_for_files() const;
  NewFile create(int32_t number, std::string_view stored_name);
  std::vector<size_t> create_files(const MappedWriteRequest& request);
  void append_to(OwnFile& file);
  void drop_set_aside();
  void open_own_files();
  // Properties of a file system that require separating the bytes of different hosts.
  struct Apart {
    int64_t unit = 0;
    int64_t own_caches = 0;
    int64_t kind = 0;        // FileSystem
    int64_t everywhere = 0;  // 1: the values are valid for all files of the directory
  };
  static Apart apart_by(const FileSystemTraits& traits);
  Apart find_apart();
  void find_unit();
  Slicing slicing() const { return unit_ > 0 ? Slicing::files : Slicing::groups; }
  std::shared_ptr<BoundaryBlocks> boundary_blocks_of(int32_t file) const;
  void keep_hosts_apart();
  void mark_unclosed(File& file, const format::Header& header,
                     const std::optional<format::Extension>& extension);
  void record_blocks(File& file, const JournalKey& key, int64_t first, std::span<const int64_t> counts,
                     const std::function<int64_t(size_t task, int64_t block)>& size_of);
  // Returns the RequestedRows of all processes. `rows` receives those of this process's slice, by row.
  Gathered collect_rows(const MappedWriteRequest& request, std::vector<RequestedRow>& rows);
  void collect_mapping();
  void lay_out(const Gathered& collected, std::vector<RequestedRow>& rows);
  void know_journal(OwnFile& file, const format::Header& header,
                    const std::optional<format::Extension>& extension);
  void write_metadata(std::span<const Segment> segments, const std::vector<RequestedRow>& rows,
                      std::string_view stored_name, const std::optional<format::Extension>& extension);
  format::Header header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const;

  // Optional state is allocated separately, because every task of a file has a Writer.
  struct CreatedFiles {
    std::vector<std::string> created;  // files that this open created
    // Files renamed to make room for new ones: original and current name.
    std::vector<std::pair<std::string, std::string>> aside;
  };
  struct Right {
    std::shared_ptr<Ownership> ownership;    // null: held by another task, or none was acquired
    std::shared_ptr<WritingRight> to_write;  // appending; null: the multifile has no lease
    std::exception_ptr lost;                 // why the files must not be written any more
  };
  Right& right();        // allocated at the first call
  CreatedFiles& made();  // allocated at the first call
  // Throws `foreign` if another program may write the files, and from then on at every call. Local.
  void require_ownership(Ownership::LeaseCheck look);
  void require_files_in_place();
  void require_same_file(File& file, const format::Identity& identity) const;

  // Closing.
  struct Closing {
    // In the order of rows: what each task has written (append_row), and its checksums.
    std::vector<std::byte> rows;
    std::vector<uint32_t> sums;
    // Bytes that tasks of this process lost because the program wrote beyond a chunk through its own handle.
    std::optional<Error> losses;
  };
  // Calls visit(index, RowView, checksums of the row) for each row.
  template <class Visit>
  void for_each_row(const Closing& closing, Visit&& visit) const {
    const std::byte* next = closing.rows.data();
    std::span<const uint32_t> sums = closing.sums;
    for (const size_t i : mine_.row_order()) {
      const RowView row(next);
      const auto n = static_cast<size_t>(row.sums());
      visit(i, row, sums.first(n));
      sums = sums.subspan(n);
      next += row.bytes();
    }
  }
  using Lead = ClosingLead;
  void finish(Closing& closing);
  std::optional<Error> finish_streams(Closing& closing, int64_t max_sums);
  std::vector<Segment> own_segment(const MetadataPartition& slices) const;
  std::vector<EndedSegment> find_ends(MetadataPartition& slices, std::span<const Segment> segments,
                                      const BlockTable& table, const SliceSums& sums,
                                      std::optional<Error>& problem);
  std::optional<Error> merge_own_boundary_blocks(std::span<const EndedSegment> segments);
  SumRounds plan_rounds(MetadataPartition& slices, const BlockTable& table, const SliceSums& sums,
                        const Closing& closing, std::optional<Error>& problem);
  const OwnFile* kept_open(int32_t file) const;
  std::shared_ptr<File> open_segment(const Segment& segment, Access access) const;
  enum class Outlives : uint8_t { process, host };
  void change_file(const Segment& segment, const std::function<void(File&, const format::Header&)>& change,
                   Outlives what = Outlives::process);
  void take_pointers_away(std::span<const EndedSegment> segments);
  void write_tables(std::span<const EndedSegment> segments, const BlockTable& table, SliceSums& sums,
                    SumRounds& rounds);
  void write_table(const EndedSegment& segment, const BlockTable& table, SliceSums& sums, SumRounds& rounds);
  void write_mapping(File& file, const format::Header& h, const EndedSegment& lead, int64_t begin,
                     int64_t end, const std::function<layout::Placement(int64_t task)>& place_of);
  void write_known_mapping(const Lead& lead);
  void complete_file(EndedSegment& segment);
  Lead lead_of(std::span<const EndedSegment> segments) const;
  void report_rows(std::span<const std::byte> row) noexcept;
  WrittenTask written(size_t index, std::span<const uint32_t> sums = {}) const;
  void look_for_losses(const Closing& closing);
  // While appending, returns the earlier contents of the slice at its metadata writer; otherwise null.
  const TableSlice* old() const { return placed_ ? placed_->old.get() : nullptr; }
  // Returns a communicator with all tasks that write these files, possibly with tasks of further files.
  Comm& tasks_of_files() { return grouped_ ? local() : *comm_; }
  // Returns the number of entries of the mapping field in file 0; -1: no such field.
  int64_t mapping_entries() const {
    return !grouped_ ? placed_->mapping_entries : facts_.nfiles > 1 ? ntasks_ : -1;
  }
  void check_appending(const MappedAppendRequest& request, const OpenMode& mode) const;
  void go_on_behind(const OpenTasks& found);
  void read_mapping();
  std::string name_of(int32_t number) const { return name_in_set(path_, number, name_of_); }
  void bind(const OwnFile& file);
  void load_first();
  void enter(size_t index);
  void park();
  void change_to(size_t next);
  void record_progress();
  [[noreturn]] void refuse(const FailedWrites::WriteRequest& request, const Error& why);
  void commit_frames();
  void come_back();
  void leave(size_t task);
  int64_t tasks_per_node();
  void compress(const codec::Compression& how, int64_t neighbours);
  void go_on_compressing(const OpenTasks& found, const OpenMode& mode);
  void write_old_slots();
  void mark_appended();
  void give_back_pointers();

  // Functions for processes with one task each.
  void choose_files(ParallelWriteRequest& request, const OpenMode& mode, Apart& in_directory);
  void number_local_groups();
  void open_group_file(const ParallelWriteRequest& request, const OpenMode& mode,
                       std::shared_ptr<WriteSlots> slots, const Apart& in_directory);
  // Layout of this task's chunk if two hosts must not write within one shared granularity.
  struct RegionPlan {
    layout::RegionChunk chunk;
    layout::GroupPlace run;  // of this task
    int64_t unit = 0;        // shared granularity in bytes; 0: no run has boundary blocks
  };
  RegionPlan plan_regions(int64_t chunk_size, const NewGroups& groups);
  const std::shared_ptr<BoundaryBlocks>& boundary_blocks() const { return mine_.files[0].boundary_blocks; }
  std::optional<Error> form_groups(int64_t request, int64_t& chunk_size, NewGroups& groups);
  // `is_new` is true if the file has no contents from before this open.
  void lay_out_group(int64_t chunk_size, std::string_view base, bool is_new, std::optional<Error> problem,
                     NewGroups groups, const std::optional<format::Extension>& extension);
  File& file() const { return stream_.target().file(); }
  // Returns a communicator of the tasks that take part in the collective calls of this file.
  Comm& meeting() {
    return collecting_ && collecting_->means.meeting ? *collecting_->means.meeting : local();
  }

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

  // Additional state of writers with arbitrarily placed tasks.
  struct PlacedState : PartitionRows {
    std::optional<format::Extension> extension;  // extension of new files
    std::vector<int64_t> globalranks;            // if one process writes all tasks: as stored in the files
    bool in_order = false;                       // if one process writes all tasks: Extension::in_order()
    std::vector<StreamPosition> ends_before;  // appending: earlier end of the stream of each task, by index
    std::unique_ptr<MetadataPartition> numbers;  // by task number
    std::vector<layout::Placement> mapping;      // places of the tasks in this process's slice
    int64_t mapping_entries = 0;                 // see mapping_entries()
    std::vector<MoreSection> names;              // appending: sections with names of tasks; at process 0 only
    std::shared_ptr<WriteSlots> slots;           // null: no limit
    std::shared_ptr<File> no_task;               // represents the file on a process without tasks
  };

  Store* store_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;  // null: comm_
  std::string path_;
  NameOf name_of_;
  FileFacts facts_;
  JournalHosts hosts_;
  bool alone_ = false;         // opened by one process for all tasks
  bool grouped_ = false;       // one new task per process
  bool keeps_sizes_ = false;   // alone_: chunk sizes are not rounded up to blocks
  bool keeps_chunks_ = false;  // see ParallelWriteRequest
  bool blockwise_ = false;     // grouped_: each file has consecutive tasks
  bool own_caches_ = false;    // see JournalKey
  bool replaces_ = false;      // see OpenMode
  int64_t unit_ = 0;           // shared granularity in bytes; 0: no limits on what hosts write
  int64_t ntasks_ = 0;
  LocalTasks mine_;
  std::vector<TaskBlocks> blocks_;      // parked, by index; the entry of the current task is stale
  std::unique_ptr<CreatedFiles> made_;  // null: no files created or renamed
  std::vector<uint8_t> unreported_;     // 1: the task was parked since the last commit; empty: none was
  OwnOverruns overruns_;
  std::unique_ptr<PlacedState> placed_;  // null if grouped_
  std::unique_ptr<Right> right_;         // null: neither ownership nor lease
  size_t current_ = 0;
  int64_t buffer_ = 0;  // bytes; see OpenMode
  WriteStream stream_;
  struct Stray {
    int64_t task = -1;
    std::exception_ptr why = nullptr;  // null: the program could select its task
  };
  FailedWrites failed_;
  Stray stray_;
  std::unique_ptr<CompressedWriter> compressed_;      // null: bytes are stored as written
  std::unique_ptr<CollectiveWriteState> collecting_;  // null: the tasks write independently
};

}  // namespace sheaf::multifile

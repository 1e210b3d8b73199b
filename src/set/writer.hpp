// set/writer: a multifile that is written, by a process alone or by many, each with any number of its tasks,
// one of them current.
//
// Opening and closing are collective, writing is local. Rows of the metadata travel to a few leaders, each of
// which writes a slice of them, so no process holds what all know. On disk nothing says that the file is
// complete until every task's bytes and the block tables are written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/collective_writer.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "creation/new_file.hpp"
#include "journal/ownership.hpp"
#include "layout/regions.hpp"
#include "metadata/edges.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/parallel_open.hpp"
#include "metadata/slice_sums.hpp"
#include "mode/open_mode.hpp"
#include "set/ended_segment.hpp"
#include "set/open_tasks.hpp"
#include "set/own_tasks.hpp"
#include "stream/compressed_writer.hpp"
#include "stream/failed_writes.hpp"
#include "stream/overruns.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

// A process alone has all tasks.
struct SerialWriteRequest {
  std::string path;
  std::span<const int64_t> chunk_sizes;  // requested bytes per task, >= 0
  std::span<const int64_t> globalranks;  // one per task, any
  int32_t fsblksize = -1;                // bytes; <= 0: the file system's
  bool keep_sizes = false;               // store the sizes as they are instead of rounding them up to blocks
  std::string stored_name = {};          // what the files say they are called; empty: `path`
  // Physical files, > 0, filled with consecutive tasks. The open mode (files=) may decide otherwise.
  int32_t nfiles = 1;
};

// A process for each task.
struct ParallelWriteRequest {
  std::string_view path;              // outlives the open
  std::string_view stored_name = {};  // what the files say they are called; outlives the open; empty: `path`
  // Physical files: > 0: that many, filled with consecutive tasks; <= 0: one per `local` group. The open mode
  // (files=) may decide otherwise.
  int32_t nfiles = 1;
  // The group this task belongs to if nfiles <= 0; null: all tasks are one group.
  std::unique_ptr<Comm> local;
  // >= 0: the caller has placed the tasks: `local` is those of physical file `filenumber` of `nfiles`,
  // whatever the open mode says. Given on all tasks or on none.
  int32_t filenumber = -1;
  NameOf name_of = {};         // null: names follow the format
  CollectiveMeans means = {};  // of collective calls
  int64_t chunk_size = 0;      // requested bytes of this task, >= 0
  int32_t fsblksize = -1;      // bytes; <= 0: the file system's
  bool keeps_chunks = false;   // chunks are as large as asked for, whatever hosts have to keep apart then
};

// Any tasks, each at a place (file, local rank) of the caller's choice.
struct MappedWriteTask {
  int64_t globalrank = 0;  // over all processes: 0..M-1, each once
  int64_t chunk_size = 0;  // requested bytes, >= 0
  layout::Placement place;
};

struct MappedWriteRequest {
  std::string path;
  int32_t nfiles = 0;      // > 0
  int32_t fsblksize = -1;  // bytes; <= 0: the file system's, found by the process that has local rank 0
  std::span<const MappedWriteTask> tasks;  // of this process, may be empty
  NameOf name_of = {};
  std::string stored_name = {};  // what the files say they are called; empty: `path`
};

// A complete multifile to which its processes append.
struct MappedAppendRequest {
  MappedReadRequest tasks;                   // of this process; a task has one process at most
  int64_t ntasks = 0;                        // that the multifile must have; 0: any
  std::shared_ptr<WritingRight> right = {};  // of the first task; the others open the lease OpenMode::lease
};

class BlockTable;

class Writer {
 public:
  // The first task becomes current. Nothing on disk is touched if an argument is wrong; files that did not
  // exist are removed again if the open fails, and nothing that existed is truncated before all files could
  // be opened. Throws on every process alike.
  Writer(Store& store, const SerialWriteRequest& request, const OpenMode& mode);
  // Collective over `comm`; every task has agreed on `mode` (agree_on_call).
  Writer(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request, const OpenMode& mode);
  // The same; also on path, nfiles and fsblksize. Throws invalid_argument for a placement that leaves gaps or
  // uses a place twice, and for global ranks that are not 0..M-1.
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request, const OpenMode& mode);
  // Collective over `comm`, as OpenTasks; the tasks stand at the ends of their streams. Nothing on disk
  // changes. Throws on every process alike, also unsupported, mismatch, unclosed for what cannot be appended
  // to (docs/api-sion.md, "Append").
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request, const OpenMode& mode);

  int64_t ntasks() const { return ntasks_; }                      // of all processes
  std::span<const OwnTask> tasks() const { return mine_.tasks; }  // of this process
  int64_t task() const {                                          // the current one
    const size_t index = compressed_ && compressed_->left ? *compressed_->left : current_;
    return mine_.tasks.empty() ? -1 : mine_.tasks[index].task;
  }
  // Makes another task of this process current, where it was left. Throws out_of_range.
  void select(int64_t task);
  FileFacts facts() const;                                           // of the current task
  const std::string& path() const { return stream_.file().path(); }  // of the current task's physical file
  const std::string& base_name() const { return path_; }             // of the set
  int open_files() const { return static_cast<int>(mine_.files.size()); }
  int64_t bytes_held() const;
  Comm* comm() { return comm_.get(); }                 // of all processes
  Comm& local() { return local_ ? *local_ : *comm_; }  // a process for each task: those of this physical file
  // What the program writes to: of a compressed file, what is not compressed yet.
  WriteStream& stream() { return compressed_ ? compressed_->stream() : stream_; }
  // What a task of this process has written, as its program sees it.
  const TaskBlocks& blocks_of(int64_t task);
  std::span<const int64_t> globalranks() const { return placed_->globalranks; }  // of a process alone
  bool is_alone() const { return alone_; }
  // Null if the tasks write on their own.
  CollectiveWriter* collective() { return collecting_ ? collecting_->writer.get() : nullptr; }
  // Collective over the tasks of the physical file, where collective() is there: CollectiveWriter::write().
  void write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Runs act(), which appends the bytes of one call of the program, `head` and `body`, to the current task's
  // stream. If it throws, these bytes are remembered, and commit() and close() fail, until the task's stream
  // continues with the same bytes (stream/failed_writes). Throws what act() throws.
  template <class Act>
  void append(std::span<const std::byte> head, std::span<const std::byte> body, Act&& act) {
    const FailedWrites::Request request{stray_.why ? stray_.task : task(), head, body};
    try {
      if (const auto problem = attempt([&] { stray_.why ? std::rethrow_exception(stray_.why) : act(); }))
        refuse(request, *problem);
    } catch (const std::bad_alloc&) {  // no memory for the error
      failed_.fail_unremembered(request);
      throw;
    }
    if (failed_.any()) failed_.accept(request);
  }
  // The program could not select `task`, one of this process, and may ignore that: append() throws `why`
  // until a select() succeeds, so that no task gets the bytes of another task. No collective writing.
  void stray(int64_t task, const Error& why) noexcept { stray_ = {task, std::make_exception_ptr(why)}; }
  // append() or a select() has failed, and the program has not repeated it: all its bytes must pass append().
  bool awaits_retry() const { return stray_.why || failed_.any(); }
  // At the first task: the right to write the multifile, without which flush and close fail.
  void own(std::shared_ptr<Ownership> ownership) {
    if (ownership || right_) right().ownership = std::move(ownership);
  }

  // Local: what the tasks of this process have written is in the files, and found there whatever becomes of
  // the program (WriteStream::commit). Throws also, after that, if append() has failed and the program has
  // not repeated it.
  void commit();

  // Collective: new chunk sizes before anything was written. Throws wrong_mode on every task if any has
  // written, or if the processes do not have one new task each.
  void resize_chunks(int64_t chunk_size);

  // Collective. Throws on every process alike, also if commit() throws for a failed append() on any. The
  // object is closed all the same, and the files stay unclosed then.
  void close();
  // Local, instead of close(), on every process, before anything was written: removes the files this open
  // created; those it was to append to are as they were.
  void discard();

 private:
  std::vector<layout::Placement> place_alone(int32_t nfiles, const OpenMode& mode);
  // What all kinds of open begin with.
  Writer(Store& store, std::unique_ptr<Comm> comm, std::string path, NameOf name_of, const OpenMode& mode);

  // Tasks that are placed anywhere.
  void open_placed(const MappedWriteRequest& request, const OpenMode& mode);
  void check(const MappedWriteRequest& request) const;
  void require_tasks_for_files() const;
  NewFile create(int32_t number, std::string_view stored_name);
  std::vector<size_t> create_files(const MappedWriteRequest& request);
  void append_to(OwnFile& file);
  void drop_set_aside();
  void open_own_files();
  // The unit that no two hosts may write, or 0, and whether they have caches of their own.
  struct Apart {
    int64_t unit = 0;
    int64_t own_caches = 0;
    int64_t kind = 0;        // FileSystem
    int64_t everywhere = 0;  // 1: for all files of the directory alike
  };
  static Apart apart_by(const FileSystemTraits& traits);
  Apart find_apart();
  void find_unit();
  Slicing slicing() const { return unit_ > 0 ? Slicing::files : Slicing::groups; }
  std::shared_ptr<Edges> edges_of(int32_t file) const;
  void keep_hosts_apart();
  void mark_unclosed(File& file, const format::Header& header,
                     const std::optional<format::Extension>& extension);
  void record_blocks(File& file, const JournalKey& key, int64_t first, std::span<const int64_t> counts,
                     const std::function<int64_t(size_t task, int64_t block)>& size_of);
  // RequestedRows as they were collected; `rows`: those of the slice that this process leads, by row.
  Gathered collect_rows(const MappedWriteRequest& request, std::vector<RequestedRow>& rows);
  void collect_mapping();
  void lay_out(const Gathered& collected, std::vector<RequestedRow>& rows);
  void know_journal(OwnFile& file, const format::Header& header,
                    const std::optional<format::Extension>& extension);
  void write_metadata(std::span<const Segment> segments, const std::vector<RequestedRow>& rows,
                      std::string_view stored_name, const std::optional<format::Extension>& extension);
  format::Header header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const;

  // What only some tasks have is behind a pointer: every task of a file has a Writer.
  struct Made {
    std::vector<std::string> created;  // files that this open made
    // Files that were set aside for new ones: their own name, and the one they have now.
    std::vector<std::pair<std::string, std::string>> aside;
  };
  struct Right {
    std::shared_ptr<Ownership> ownership;    // null: of another task, or none could be taken
    std::shared_ptr<WritingRight> to_write;  // appending; null: the multifile has no lease
    std::exception_ptr lost;                 // why the files are not to be written any more
  };
  Right& right();  // made if need be
  Made& made();    // the same
  // Local: throws `foreign`, from then on always, once another program may write the files.
  void require_ownership(Ownership::Look look);
  void require_files_in_place();
  void require_same_file(File& file, const format::Identity& identity) const;

  // Closing.
  struct Closing {
    // In the order of rows: what each task has written (append_row), and its checksums.
    std::vector<std::byte> rows;
    std::vector<uint32_t> sums;
    // What tasks of this process have lost by writing behind a chunk themselves.
    std::optional<Error> losses;
  };
  // visit(index, RowView, its checksums)
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
  std::optional<Error> finish_streams(Closing& closing, int64_t most_sums);
  std::vector<Segment> own_segment(const RowSlices& slices) const;
  std::vector<EndedSegment> find_ends(RowSlices& slices, std::span<const Segment> segments,
                                      const BlockTable& table, const SliceSums& sums,
                                      std::optional<Error>& problem);
  std::optional<Error> bring_edges_home(std::span<const EndedSegment> segments);
  SumRounds plan_rounds(RowSlices& slices, const BlockTable& table, const SliceSums& sums,
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
  // Appending: the slice as it was, at a leader; else null.
  const TableSlice* old() const { return placed_ ? placed_->old.get() : nullptr; }
  // Of all tasks that write the same files, and perhaps others.
  Comm& tasks_of_files() { return grouped_ ? local() : *comm_; }
  // Of the mapping field in file 0; -1: there is none.
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
  [[noreturn]] void refuse(const FailedWrites::Request& request, const Error& why);
  void commit_frames();
  void come_back();
  void leave(size_t task);
  int64_t tasks_per_node();
  void compress(const codec::Compression& how, int64_t neighbours);
  void go_on_compressing(const OpenTasks& found, const OpenMode& mode);
  void write_old_slots();
  void mark_appended();
  void give_back_pointers();

  // A process for each task.
  void choose_files(ParallelWriteRequest& request, const OpenMode& mode, Apart& in_directory);
  void number_local_groups();
  void open_group_file(const ParallelWriteRequest& request, const OpenMode& mode,
                       std::shared_ptr<WriteSlots> slots, const Apart& in_directory);
  // How this task's chunk is laid out where several hosts may not write one unit.
  struct RegionPlan {
    layout::RegionChunk chunk;
    layout::GroupPlace run;  // of this task
    int64_t unit = 0;        // 0: no run has edges
  };
  RegionPlan plan_regions(int64_t chunk_size, const NewGroups& groups);
  const std::shared_ptr<Edges>& edges() const { return mine_.files[0].edges; }
  std::optional<Error> form_groups(int64_t request, int64_t& chunk_size, NewGroups& groups);
  // is_new: the file holds nothing from before this open.
  void lay_out_group(int64_t chunk_size, std::string_view base, bool is_new, std::optional<Error> problem,
                     NewGroups groups, const std::optional<format::Extension>& extension);
  File& file() const { return stream_.file(); }
  // Where the collective calls of this file take place.
  Comm& meeting() {
    return collecting_ && collecting_->means.meeting ? *collecting_->means.meeting : local();
  }

  struct Collecting {
    CollectivePlan plan;
    int buddies = 0;              // copies to make in the close
    int32_t fsblksize = 0;        // of the file system, or given; that of the file may be smaller
    bool chooses_blocks = false;  // the library does
    CollectiveMeans means = {};
    exchange::Nodes nodes = {};
    std::shared_ptr<CollectedFile> file = nullptr;
    // Null before the groups are formed, and in the close.
    std::unique_ptr<CollectiveWriter> writer = nullptr;
  };

  // What writers of tasks that are placed anywhere know beside.
  struct Placed : LedRows {
    std::optional<format::Extension> extension;  // of the files this open makes
    std::vector<int64_t> globalranks;            // alone: as they are stored
    bool in_order = false;                       // alone: as Extension::in_order()
    std::vector<ReadPosition> ends_before;       // appending: where the stream of each task ended, by index
    std::unique_ptr<RowSlices> numbers;          // by task number
    std::vector<layout::Placement> mapping;      // of the tasks this process leads
    int64_t mapping_entries = 0;                 // as mapping_entries()
    std::vector<MoreSection> names;              // appending: of the tasks; only process 0 has them
    std::shared_ptr<WriteSlots> slots;           // null: no limit
    std::shared_ptr<File> no_task;               // what a process without tasks has for a file
  };

  Store* store_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;  // null: comm_
  std::string path_;
  NameOf name_of_;
  FileFacts facts_;
  Hosts hosts_;
  bool alone_ = false;         // as opened by a process alone
  bool grouped_ = false;       // a process for each task, none of which was there before
  bool keeps_sizes_ = false;   // alone: chunk sizes are not rounded up to blocks
  bool keeps_chunks_ = false;  // as in ParallelWriteRequest
  bool blockwise_ = false;     // grouped: consecutive tasks in each file
  bool own_caches_ = false;    // as in JournalKey
  bool replaces_ = false;      // as in OpenMode
  int64_t unit_ = 0;           // bytes; > 0: no two hosts may write one unit of a file before its close
  int64_t ntasks_ = 0;
  OwnTasks mine_;
  std::vector<TaskBlocks> blocks_;   // parked, by index; the entry of the current task is stale
  std::unique_ptr<Made> made_;       // null: nothing
  std::vector<uint8_t> unreported_;  // 1: the task was parked since the last commit; empty: none was
  OwnOverruns overruns_;
  std::unique_ptr<Placed> placed_;  // null: grouped_
  std::unique_ptr<Right> right_;    // null: as one without either
  size_t current_ = 0;
  int64_t buffer_ = 0;  // as in the open mode
  WriteStream stream_;
  struct Stray {
    int64_t task = -1;
    std::exception_ptr why = nullptr;  // null: the program is where it wants to be
  };
  FailedWrites failed_;
  Stray stray_;
  std::unique_ptr<CompressedWriter> compressed_;  // null: what is written is what is stored
  std::unique_ptr<Collecting> collecting_;        // null: the tasks write on their own
};

}  // namespace sheaf

// set/mapped_writer: a multifile written by processes that have several tasks each, every task at a place
// (file, local rank) of the caller's choice. One task of a process is current.
//
// Opening and closing are collective; rows of the metadata travel to the leaders of their slice
// (row_slices.hpp) and what follows from all rows before them travels back, so no process holds what all
// know. On disk the file is complete only when every byte and the block tables are written.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/parallel_open.hpp"
#include "metadata/slice_sums.hpp"
#include "mode/open_mode.hpp"
#include "set/mapped_reader.hpp"
#include "set/mapped_tasks.hpp"
#include "stream/compressed_writer.hpp"
#include "stream/overruns.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

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
  MappedReadRequest tasks;  // of this process; a task has one process at most
  int64_t ntasks = 0;       // that the multifile must have; 0: any
};

class MappedWriter {
 public:
  // Collective over `comm`; every process has agreed on path, nfiles, fsblksize and `mode` (agree_on_call).
  // The first task becomes current. Throws on every process alike: invalid_argument for a placement that
  // leaves gaps or uses a place twice, and for global ranks that are not 0..M-1; nothing on disk has changed
  // then.
  MappedWriter(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request,
               const OpenMode& mode);

  // Collective over `comm`, as a MappedReader is opened; the tasks stand at the ends of their streams.
  // Nothing on disk changes. Throws on every process alike, also unsupported, mismatch, unclosed for what
  // cannot be appended to (docs/api-sion.md, "Append").
  MappedWriter(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request,
               const OpenMode& mode);

  int64_t ntasks() const { return ntasks_; }                                              // of all processes
  std::span<const MappedTask> tasks() const { return mine_.tasks; }                       // of this process
  int64_t task() const { return mine_.tasks.empty() ? -1 : mine_.tasks[current_].task; }  // the current one
  // Makes another task of this process current, where it was left. Throws out_of_range.
  void select(int64_t task);
  FileFacts facts() const;  // of the current task
  const std::string& path() const { return stream_.file().path(); }
  int open_files() const { return static_cast<int>(mine_.files.size()); }
  Comm& comm() { return *comm_; }
  // What the program writes to: of a compressed file, what is not compressed yet.
  WriteStream& stream() { return compressed_ ? compressed_->stream() : stream_; }

  // Local: what the tasks of this process have written is in the files, and found there whatever becomes of
  // the program (WriteStream::commit).
  void commit();

  // Collective. Throws on every process alike; the object is closed all the same.
  void close();
  // Local, instead of close(), on every process, before anything was written: removes the files this open
  // created.
  void discard();

 private:
  void check(const MappedWriteRequest& request) const;
  void create_files(const MappedWriteRequest& request);
  void open_own_files();
  void find_unit();
  Slicing slicing() const { return unit_ > 0 ? Slicing::files : Slicing::groups; }
  std::shared_ptr<Edges> edges_of(int32_t file) const;
  void keep_hosts_apart();
  void mark_unclosed(File& file, const JournalKey& key);
  // What a leader knows of the physical file of a segment in the end.
  struct SegmentEnd {
    format::Pointer pointer;
    int64_t sums_before;  // data checksums of the tasks before the segment
    int64_t sums;         // of all tasks of the file
  };
  std::optional<Error> bring_edges_home(std::span<const SegmentEnd> ends);
  Gathered collect_rows(const MappedWriteRequest& request);  // of MappedRow
  void check_rows(const Gathered& rows) const;
  void collect_mapping();
  void lay_out(const Gathered& rows);
  std::vector<std::byte> place_rows(const Gathered& rows);
  void know_journal(MappedFile& file, const format::Header& header,
                    const std::optional<format::Extension>& extension);
  void empty_files();
  void write_metadata(const Gathered& rows, const std::string& stored_name);
  format::Header header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const;
  Gathered collect_blocks();
  struct BlockTable;
  SumRounds plan_rounds(const Gathered& collected, const SliceSums& sums, std::optional<Error>& problem);
  std::vector<SegmentEnd> find_ends(std::span<const int64_t> counts, const SliceSums& sums_of_rows);
  void change_file(const Segment& segment, const std::function<void(File&, const format::Header&)>& change);
  struct Lead;
  void write_mapping(const Lead& lead);
  void finish();
  void finish_streams();
  WrittenTask written(size_t index, std::span<const uint32_t> sums = {}) const;
  void look_for_losses();
  int64_t mapping_of(int32_t file) const { return file == 0 ? mapping_entries_ : -1; }
  void check_appending(const MappedAppendRequest& request, const OpenMode& mode) const;
  void go_on_behind(MappedReader& reader);
  void read_mapping();
  void open_to_append();
  std::string name_of(int32_t number) const { return name_in_set(path_, number, name_of_); }
  void bind(const MappedFile& file);
  void load_first();
  void enter(size_t index);
  void park();
  void finish_frames();
  void compress(const codec::Compression& how);
  void go_on_compressing(MappedReader& reader, const OpenMode& mode);
  void write_old_slots();
  void mark_appended();

  Store* store_;
  std::unique_ptr<Comm> comm_;
  std::string path_;
  NameOf name_of_;
  FileFacts facts_;
  Hosts hosts_;
  int64_t unit_ = 0;         // bytes; > 0: no two hosts may write one unit of a file before its close
  bool own_caches_ = false;  // as in JournalKey
  int64_t ntasks_ = 0;
  MappedTasks mine_;
  std::optional<format::Extension> extension_;    // of the files this open makes
  std::vector<ReadPosition> ends_before_;         // appending: where the stream of each task ended, by index
  std::vector<TaskBlocks> blocks_;                // parked, by index; the entry of the current task is stale
  std::vector<int32_t> block_sizes_;              // of the file system, one per file of mine_
  std::vector<std::string> created_;              // files that this open made
  std::unique_ptr<RowSlices> rows_;               // by (file, local rank)
  std::unique_ptr<RowSlices> numbers_;            // by task number
  std::vector<Segment> segments_;                 // of the slice this process leads
  std::vector<layout::Placement> mapping_;        // of the tasks this process leads
  int64_t mapping_entries_ = 0;                   // of the field in file 0; -1: there is none
  std::unique_ptr<MappedSlice> old_;              // appending: the slice as it was
  std::shared_ptr<WriteSlots> slots_;             // null: no limit
  std::shared_ptr<File> no_task_;                 // what a process without tasks has for a file
  std::vector<std::vector<std::byte>> own_rows_;  // closing: what each task has written (row_of)
  std::vector<std::vector<uint32_t>> own_sums_;   // closing: its checksums
  std::vector<bool> unreported_;                  // tasks parked since the last commit; empty: none
  OwnOverruns overruns_;
  std::optional<Error>
      losses_;  // closing: what tasks of this process have lost by writing behind a chunk themselves
  size_t current_ = 0;
  int64_t buffer_ = 0;  // as in the open mode
  WriteStream stream_;
  std::unique_ptr<CompressedWriter> compressed_;          // null: what is written is what is stored
  std::vector<CompressedWriter::Task> compressed_tasks_;  // as blocks_
};

}  // namespace sheaf

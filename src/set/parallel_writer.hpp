// set/parallel_writer: a multifile written by many tasks, each appending to a stream of its own.
//
// Opening and closing are collective and cost O(log P) rounds of messages, whatever the number of chunks;
// writing is local. On disk nothing says that the file is complete until every task's bytes and the block
// table are written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/collective_writer.hpp"
#include "comm/comm.hpp"
#include "layout/regions.hpp"
#include "metadata/edges.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/slice_sums.hpp"
#include "mode/open_mode.hpp"
#include "stream/compressed_writer.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

struct ParallelWriteRequest {
  std::string_view path;              // outlives the open
  std::string_view stored_name = {};  // what the files say they are called; outlives the open; empty: `path`
  // Physical files: > 0: that many, filled with consecutive tasks; <= 0: one per `local` group. The open mode
  // (files=) may decide otherwise.
  int32_t nfiles = 1;
  std::unique_ptr<Comm>
      local;  // the group this task belongs to if nfiles <= 0; null: all tasks are one group
  // >= 0: the caller has placed the tasks: `local` is those of physical file `filenumber` of `nfiles`,
  // whatever the open mode says. Given on all tasks or on none.
  int32_t filenumber = -1;
  NameOf name_of = {};         // null: names follow the format
  CollectiveMeans means = {};  // of collective calls
  int64_t chunk_size = 0;      // requested bytes of this task, >= 0
  int32_t fsblksize = -1;      // bytes; <= 0: the file system's
  bool keeps_chunks = false;   // chunks are as large as asked for, whatever hosts have to keep apart then
};

class Leaders;

class ParallelWriter {
 public:
  // Collective over `comm`; every task has agreed on `mode` (agree_on_call). Throws on every task alike;
  // nothing that existed has been truncated if an argument was wrong or a file could not be opened.
  ParallelWriter(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request,
                 const OpenMode& mode);

  int task() const { return comm_->rank(); }
  int ntasks() const { return comm_->size(); }
  const FileFacts& facts() const { return facts_; }
  // Only the own task can be selected. Throws out_of_range for any other.
  void select(int64_t task) const;
  const std::string& path() const { return stream_.file().path(); }  // of this task's physical file
  Comm& comm() { return *comm_; }
  // What the program writes to: of a compressed file, what is not compressed yet.
  WriteStream& stream() { return compressed() ? compressed()->stream() : stream_; }
  // Null if the tasks write on their own.
  CollectiveWriter* collective() { return collecting() ? collecting()->writer.get() : nullptr; }
  std::string base_name();                                       // of the set
  Comm& local() { return own_local() ? *own_local() : *comm_; }  // tasks of this physical file

  // Collective over the tasks of the physical file, where collective() is there: CollectiveWriter::write().
  void write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Local: what this task has written is in the file, and found there whatever becomes of the program
  // (WriteStream::commit).
  void commit();

  // Collective: new chunk sizes before anything was written. Throws wrong_mode on every task if any has
  // written.
  void resize_chunks(int64_t chunk_size);

  // Collective. Throws on every task alike; the object is closed all the same.
  void close();

  // Local, instead of close(), on every task, before anything was written: removes the files this open has
  // created.
  void discard();

 private:
  void choose_files(ParallelWriteRequest& request, const OpenMode& mode);
  void number_local_groups();
  bool units_are_large(std::string_view name);
  void open_file(const ParallelWriteRequest& request, const OpenMode& mode,
                 std::shared_ptr<WriteSlots> slots);
  // How this task's chunk is laid out where several hosts may not write one unit.
  struct RegionPlan {
    layout::RegionChunk chunk;
    layout::GroupPlace run;  // of this task
    int64_t unit = 0;        // 0: no run has edges
  };
  RegionPlan plan_regions(int64_t chunk_size, const NewGroups& groups);
  void set_edges(const RegionPlan& plan, const layout::ChunkGeometry& geometry);
  bool has_edges() const { return parts_ && parts_->edges && parts_->edges->in_use(); }
  std::optional<Error> bring_edges_home(const TaskBlocks& blocks, std::optional<Error> problem);
  std::optional<Error> form_groups(int64_t request, int64_t& chunk_size, NewGroups& groups);
  enum class Existing : bool { nothing, something };  // in the file, before this open
  void lay_out(int64_t chunk_size, std::string_view base, Existing existing, std::optional<Error> problem,
               NewGroups groups, const std::optional<format::Extension>& extension);
  void write_metadata(const Leaders& leaders, std::span<const int64_t> rows, std::string_view base,
                      const std::optional<format::Extension>& extension);
  format::Header header() const;
  // Closing: this file's block table as its leaders hold it.
  struct Table {
    Gathered rows;            // at a leader: of each task of its slice, as row_of() makes them
    format::Pointer pointer;  // at a leader
    int64_t first = 0;        // task of the slice
    int leaders = 1;          // of the file
    int64_t sums_before = 0;  // data checksums of the tasks before the slice
    int64_t sums = 0;         // of all tasks of the file
    bool is_leader = false;
    bool sound =
        false;  // at a leader: no task of its slice (of the file, if there are several leaders) has failed
    bool sums_follow = false;  // at a leader: those of some task of its slice come in rounds

    template <class Visit>
    void for_each_row(Visit&& visit) const {  // visit(number, RowView)
      std::span<const std::byte> bytes = rows.bytes;
      for (size_t t = 0; t < rows.sizes.size(); ++t) {
        visit(t, RowView(bytes.first(static_cast<size_t>(rows.sizes[t]))));
        bytes = bytes.subspan(static_cast<size_t>(rows.sizes[t]));
      }
    }
  };
  void finish(std::vector<std::byte>& row);
  std::vector<uint32_t> finish_stream(TaskBlocks& blocks);
  void look_for_losses(const TaskBlocks& blocks, std::span<const uint32_t> sums);
  void report_row(std::span<const std::byte> row) noexcept;
  Table collect_table(Leaders& leaders, std::span<const std::byte> row);
  static SliceSums sums_of(const Table& table);
  void place_table(Table& table);
  void write_table(const Table& table, SliceSums sums, SumRounds& rounds);
  std::optional<Error> write_table_in_rounds(const Table& table, Leaders& leaders,
                                             std::span<const uint32_t> own);
  int64_t mapping_size() const { return facts_.nfiles > 1 && facts_.filenumber == 0 ? comm_->size() : -1; }
  void write_trailer(const Table& table, const format::Header& header, SliceSums& sums, SumRounds& rounds);
  template <class Visit>
  void for_blockwise_mapping(const Table& table, Visit&& visit);
  bool gathers_mapping() const { return facts_.nfiles > 1 && !facts_.blockwise; }
  struct Lead {
    format::Pointer pointer;
    int32_t ntasks;
    int64_t sums;  // data checksums
    int task;      // the first one of file 0
  };
  void gather_mapping(const Lead& lead);
  void write_mapping(const Lead& lead, int64_t first, std::span<const layout::Placement> entries);
  void complete(const format::Pointer& pointer);

  File& file() { return stream_.file(); }
  // Where the collective calls of this file take place.
  Comm& meeting() {
    return collecting() && collecting()->means.meeting ? *collecting()->means.meeting : local();
  }
  Store& store() const { return stream_.store(); }

  struct Collecting {
    CollectivePlan plan;
    int buddies = 0;              // copies to make in the close
    int32_t fsblksize = 0;        // of the file system, or given; that of the file may be smaller
    bool chooses_blocks = false;  // the library does
    CollectiveMeans means = {};
    exchange::Nodes nodes = {};
    std::shared_ptr<CollectedFile> file = nullptr;
    std::unique_ptr<CollectiveWriter> writer =
        nullptr;  // null before the groups are formed, and in the close
  };

  // What the commonest kind of multifile, one file that the tasks write on their own, does not have.
  struct Parts {
    std::unique_ptr<Comm> local;                   // tasks of this physical file; null if those are all
    std::unique_ptr<Collecting> collecting;        // null: the tasks write on their own
    std::unique_ptr<CompressedWriter> compressed;  // null: what is written is what is stored
    std::shared_ptr<Edges> edges;  // null: several hosts may write one unit of the file, or there is one host
    int64_t unit = 0;              // else that of the file system, bytes
    bool keeps_chunks = false;     // as in the request
  };
  Parts& parts() {
    if (!parts_) parts_ = std::make_unique<Parts>();
    return *parts_;
  }
  Comm* own_local() const { return parts_ ? parts_->local.get() : nullptr; }
  Collecting* collecting() const { return parts_ ? parts_->collecting.get() : nullptr; }
  std::shared_ptr<Edges> edges() const { return parts_ ? parts_->edges : nullptr; }
  CompressedWriter* compressed() const { return parts_ ? parts_->compressed.get() : nullptr; }

  std::unique_ptr<Comm> comm_;
  WriteStream stream_;
  std::unique_ptr<Parts> parts_;
  struct Facts : FileFacts {     // so that the flags take the room it leaves
    bool created : 1 = false;    // by this task
    bool blockwise : 1 = false;  // consecutive tasks in each file
    bool named : 1 = false;      // by the caller: the name of the set cannot be told from that of a file
  };
  static_assert(sizeof(Facts) == sizeof(FileFacts));
  Facts facts_;
};

}  // namespace sheaf

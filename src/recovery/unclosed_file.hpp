// recovery/unclosed_file: one physical file that was never closed, its blocks as far as they can be told, and
// how it, or a copy of it, is made complete.
//
// A living job may be writing it while a copy is made. So what its journal tells is read once more, written
// down as the block table of the target, and from then on that table alone counts: for the data, which are
// copied later and hold no less, for their checksums, and for the look at what has become of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/edge_map.hpp"
#include "metadata/metadata_io.hpp"
#include "recovery/hole_table.hpp"
#include "recovery/repair.hpp"

namespace sheaf {

// The blocks of some tasks that follow each other.
struct BlockSlice {
  int64_t first = 0;            // local rank of the first task
  std::vector<int64_t> counts;  // blocks of each
  std::vector<int64_t> sizes;   // bytes, round by round; 0 where a task has no block
  int64_t rounds = 0;

  std::span<int64_t> round(int64_t number) {
    return std::span(sizes).subspan(static_cast<size_t>(number) * counts.size(), counts.size());
  }
  int64_t& bytes(size_t task, int64_t block) { return round(block)[task]; }
};

class UnclosedFile {
 public:
  // Finds out what there is. Throws as repair().
  UnclosedFile(Store& store, const std::string& path, const RepairRequest& request);

  const RepairedFile& report() const { return report_; }
  bool is_complete() const { return report_.source == RepairSource::complete; }
  const std::optional<format::Extension>& extension() { return reader_.extension(); }

  // Makes `target`, an empty file or the file itself, complete: it gets a copy first, or is not complete.
  void complete(File& target, bool copies, WorkProgress& progress);
  // Marks file 0 of a set because another file of the set is guessed.
  void guess_set() { report_.guessed = true; }
  void close() { file_->close(); }

 private:
  using VisitSlice = std::function<void(BlockSlice&)>;
  using VisitBlock = std::function<void(int64_t offset, int64_t& bytes, size_t task)>;

  const format::Header& header() const { return reader_.header(); }
  format::Pointer pointer_when_complete() const { return {pointer_.maxblocks, pointer_.varheader}; }
  bool writes_table() const { return !is_complete() && report_.source != RepairSource::table; }

  // What there is.
  void find_source(const std::string& path, const RepairRequest& request);
  bool overrun_chunks(BlockSlice& slice);
  void leave_out_overruns();
  void use_holes(bool unreported, bool by_holes, const std::optional<format::Pointer>& told);
  const Chunks& chunks();
  void for_each_found(const VisitSlice& visit);
  void leave_out_cut_frames(BlockSlice& slice);
  void for_each_block(BlockSlice& slice, const VisitBlock& visit);

  // What becomes of it.
  void write_table(File& target);
  void for_each_written(File& target, const VisitSlice& visit);
  void for_each_written_block(File& target, const VisitBlock& visit);
  void finish(File& target, WorkProgress& progress);
  void mark_guessed(File& target);
  int64_t write_mapping(MetadataWriter& writer);
  void write_trailer(File& target, int64_t mapping, WorkProgress& progress);
  void check_result(File& target, int64_t mapping);

  Store& store_;
  std::shared_ptr<File> file_;
  layout::EdgeMap edges_;        // of the next
  std::shared_ptr<File> whole_;  // unclosed: with what hosts have kept beside it
  MetadataReader reader_;
  format::Pointer pointer_;
  std::optional<Chunks> chunks_;
  std::optional<HoleTable> table_;
  const format::Identity identity_;  // if the file gets its extension header here
  bool has_trailer_ = false;         // that of the closed file
  int64_t end_ = 0;                  // of what a copy needs
  uint64_t written_ = 0;             // hash of the block table that was written
  int64_t missing_ = 0;              // bytes that were recorded and are not in the file
  RepairedFile report_;
};

}  // namespace sheaf

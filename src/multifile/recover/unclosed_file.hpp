// multifile/recover/unclosed_file: determines, as far as possible, the blocks of one physical file that was
// never closed, and completes the file or a copy.
//
// A living job may be writing the file while a copy is made. So the journal is read once more when the target
// is written, and becomes the block table of the target. The later steps use only that table: the copying of
// data, which may have grown in the meantime, the checksums, and the final verification.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/boundary_map.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/recover/hole_table.hpp"
#include "multifile/recover/repair.hpp"

namespace sheaf::multifile {

// The blocks of consecutive tasks.
struct BlockSlice {
  int64_t first = 0;            // local rank of the first task
  std::vector<int64_t> counts;  // number of blocks of each task
  std::vector<int64_t> sizes;   // bytes by task, round by round; 0 if a task has no block
  int64_t rounds = 0;

  std::span<int64_t> round(int64_t number) {
    return std::span(sizes).subspan(static_cast<size_t>(number) * counts.size(), counts.size());
  }
  int64_t& bytes(size_t task, int64_t block) { return round(block)[task]; }
  int64_t total() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }  // bytes
};

class UnclosedFile {
 public:
  // Determines the state of the file. Throws what repair() throws.
  UnclosedFile(Store& store, const std::string& path, const RepairRequest& request);

  const RepairedFile& report() const { return report_; }
  bool is_complete() const { return report_.source == RepairSource::complete; }
  const std::optional<format::Extension>& extension() { return reader_.extension(); }

  // Completes `target`, which is the file itself, or an empty file if `copies` is true. In the latter case,
  // first copies the contents to `target`. If the file is already complete, only marks `target` as guessed,
  // if necessary.
  void complete(File& target, bool copies, WorkProgress& progress);
  // Lets complete() mark this file, file 0 of a set, as guessed because a different file of the set is
  // guessed.
  void guess_set() { report_.guessed = true; }
  void close() { file_->close(); }

 private:
  using VisitSlice = std::function<void(BlockSlice&)>;
  using VisitBlock = std::function<void(int64_t offset, int64_t& bytes, size_t task)>;

  const format::Header& header() const { return reader_.header(); }
  format::Pointer pointer_when_complete() const { return {pointer_.maxblocks, pointer_.varheader}; }
  bool writes_table() const { return !is_complete() && report_.source != RepairSource::table; }

  // --- State of the file.
  void find_source(const RepairRequest& request);
  void use_holes(const RepairRequest& request, const std::optional<format::Pointer>& told);
  void use_stored_table(const format::Pointer& found, const std::optional<format::Pointer>& recorded);
  void leave_out_overruns();
  void report_loss(bool is_accepted);
  // Returns the chunks, which are read at the first call: a caller that only checks a journal does not need
  // them.
  const Chunks& chunks() {
    if (!chunks_) chunks_ = read_chunks(reader_);
    return *chunks_;
  }
  void for_each_found(const VisitSlice& visit);
  void leave_out_cut_frames(BlockSlice& slice);
  void for_each_block(BlockSlice& slice, const VisitBlock& visit) {
    for (size_t t = 0; t < slice.counts.size(); ++t) {
      const size_t task = static_cast<size_t>(slice.first) + t;
      for (int64_t b = 0; b < slice.counts[t]; ++b)
        visit(chunks().layout.starts[task] + b * chunks().layout.skip, slice.bytes(t, b), task);
    }
  }

  // --- Changes to the target.
  void write_table(File& target);
  void for_each_written(File& target, const VisitSlice& visit);
  void for_each_written_block(File& target, const VisitBlock& visit) {
    for_each_written(target, [&](BlockSlice& slice) { for_each_block(slice, visit); });
  }
  void finish(File& target, WorkProgress& progress);
  void mark_guessed(File& target);
  int64_t write_mapping(MetadataWriter& writer);
  void write_trailer(File& target, int64_t mapping, WorkProgress& progress);
  void check_result(File& target, int64_t mapping);

  Store& store_;
  std::shared_ptr<File> file_;
  struct WholeFile {
    std::shared_ptr<File> file;  // unclosed: the file including boundary blocks that hosts keep beside it
    layout::BoundaryMap boundary_blocks;
  };
  WholeFile whole_;
  MetadataReader reader_;
  format::Pointer pointer_;
  std::optional<Chunks> chunks_;
  std::optional<HoleTable> table_;
  const format::Identity identity_;  // identity for an extension header that the repair adds
  uint64_t written_ = 0;             // hash of the block table that was written
  bool has_trailer_ = false;         // a valid trailer from the earlier close exists
  int64_t missing_ = 0;              // bytes that were recorded but are not in the file
  RepairedFile report_;
};

}  // namespace sheaf::multifile

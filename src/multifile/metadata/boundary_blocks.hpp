// multifile/metadata/boundary_blocks: stores the boundary blocks of a physical file beside it until it is
// closed.
//
// Where hosts share no page cache, two hosts must not write within one block of the shared granularity, such
// as a page (layout/regions). Bytes that a task writes to a boundary block go to a boundary file of its host
// instead, at a corresponding offset. That file, NAME.edges.<host>, is created on demand (docs/format.md,
// section 18). At close, one task merges each boundary block into the physical file
// (multifile/collective/merge_boundary_blocks). Readers and repairs find the boundary blocks of a file that
// was never closed with multifile/metadata/boundary_blocks_reader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "format/edges.hpp"
#include "layout/boundary_map.hpp"
#include "multifile/journal/journal_file.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::multifile {

// The boundary file of one host. Bytes at `offset` of the physical file are at `offset + shift` of `file`.
struct HostBoundaryFile {
  std::shared_ptr<File> file;  // null: not open
  int64_t shift = 0;
};

// The boundary blocks of one physical file, for the tasks of one process. Local. Not thread-safe.
class BoundaryBlocks {
 public:
  // `store` must outlive the object. If `journal` is true, the object announces the boundary blocks in the
  // journal, so that readers of an unclosed file find them.
  BoundaryBlocks(Store& store, std::string physical_file, bool journal)
      : store_(store), path_(std::move(physical_file)), announces_(journal) {}

  struct BoundaryRow {
    int64_t task = 0;  // number in the physical file
    format::EdgesRow where;
    // Bytes from where.begin on, in round where.from, that an earlier program has written.
    int64_t before = 0;
  };
  // Sets the runs (docs/format.md, section 18) in which this process writes. Call before the first write.
  // `unit` is the shared granularity in bytes, equal on all tasks; 0: no boundary blocks.
  void set(const JournalKey& key, int64_t unit, int64_t data_start, int64_t skip,
           std::vector<BoundaryRow> rows);
  // Call before set() if an earlier program has written to the physical file. Its bytes in boundary blocks
  // are copied, so that readers of an unclosed file find all bytes of such a block in one place.
  void keep_earlier(std::shared_ptr<File> physical_file) { earlier_ = std::move(physical_file); }
  const layout::BoundaryMap& map() const { return map_; }
  bool in_use() const { return in_use_; }
  // Returns true if the boundary file is open. The first write to a boundary block opens it.
  bool is_made() const { return own_.file != nullptr; }
  int64_t unit() const { return header_.unit; }
  // Ends the use of boundary blocks: from now on, all bytes may be written directly to the physical file.
  void end() {
    map_ = {};
    in_use_ = false;
  }

  // Write and read bytes at `offset` of the physical file, which must all be in boundary blocks. Throw what
  // the store throws, and `foreign`.
  void write(std::span<const std::byte> data, int64_t offset) {
    SHEAF_DEBUG_ASSERT(map_.part_at(offset).is_boundary);
    file().write_at(data, offset + own_.shift);
  }
  size_t read(std::span<std::byte> data, int64_t offset) {
    SHEAF_DEBUG_ASSERT(map_.part_at(offset).is_boundary);
    return file().read_at(data, offset + own_.shift);
  }
  // Makes the bytes in the boundary file durable.
  void sync();
  // Closes the boundary file after the last write. Never throws.
  void close();
  // Deletes the boundary file of the host. Every task must call it after all boundary blocks were merged.
  // Never throws.
  void remove();

 private:
  File& file();
  void copy_earlier(const BoundaryRow& row, File& to);

  Store& store_;
  const std::string path_;
  const bool announces_;
  layout::BoundaryMap map_;
  JournalKey key_;
  format::EdgesHeader header_;
  std::vector<BoundaryRow> rows_;
  std::shared_ptr<File> earlier_;
  HostBoundaryFile own_;
  bool in_use_ = false;
  bool was_open_ = false;
  bool named_ = false;  // the directory entry would survive a power loss
};

// The physical file as its tasks access it. Redirects accesses to boundary blocks to `boundary_blocks`.
class BoundaryFile final : public ForwardingFile {
 public:
  BoundaryFile(std::shared_ptr<File> inner, std::shared_ptr<BoundaryBlocks> boundary_blocks)
      : ForwardingFile(std::move(inner)), boundary_blocks_(std::move(boundary_blocks)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void sync() override {
    inner().sync();
    boundary_blocks_->sync();
  }
  void publish() override { boundary_blocks_->in_use() ? sync() : inner().publish(); }
  FileTraits traits() override { return boundary_blocks_->in_use() ? FileTraits{} : inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override;

 private:
  const std::shared_ptr<BoundaryBlocks> boundary_blocks_;
};

// Returns a BoundaryFile on top of `file`, or `file` itself if `boundary_blocks` is null.
std::shared_ptr<File> boundary_file(std::shared_ptr<File> file,
                                    std::shared_ptr<BoundaryBlocks> boundary_blocks);

}  // namespace sheaf::multifile

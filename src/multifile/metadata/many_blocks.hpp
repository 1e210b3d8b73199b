// multifile/metadata/many_blocks: provides the block sizes of a task with too many blocks to hold in memory.
// Reads them from the block table of the file in windows of at most 64 KiB. Skips holes of the file.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/export.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/stream/block_sizes.hpp"

namespace sheaf::multifile {

// A metadata reader shared by several threads.
struct SharedReader {
  std::mutex mutex;
  std::shared_ptr<File> file;  // file of `reader`; null if another object keeps it open
  std::unique_ptr<MetadataReader> reader;
  format::Pointer pointer;

  // The reader, locked for one thread during the lifetime of the result.
  struct LockedReader {
    std::unique_lock<std::mutex> lock;
    MetadataReader* reader;
    MetadataReader* operator->() const { return reader; }
  };
  LockedReader locked() { return {std::unique_lock(mutex), reader.get()}; }
};

class SHEAF_EXPORT ManyBlocks final : public BlockSource {
 public:
  // Provides the block sizes of local task `task`, which has `count` blocks.
  ManyBlocks(std::shared_ptr<SharedReader> tables, int64_t task, int64_t count)
      : tables_(std::move(tables)), task_(task), count_(count) {}

  int64_t size_of(int64_t block) override;
  int64_t next_candidate(int64_t block) override;
  // Discards sizes read so far (see MetadataReader::find_overruns).
  void forget() { window_.clear(); }

 private:
  bool in_window(int64_t block) const { return block >= begin_ && block - begin_ < std::ssize(window_); }
  void load(int64_t block);

  std::shared_ptr<SharedReader> tables_;
  int64_t task_;
  int64_t count_;
  int64_t begin_ = 0;
  std::vector<int64_t> window_;  // sizes from block begin_ on
};

// Returns the validated block sizes of one task, in memory if they are few. Sets `held` to their owner; the
// result is valid as long as that exists. Throws damaged.
BlockSizes read_blocks_of_task(const std::shared_ptr<SharedReader>& tables,
                               const layout::ChunkGeometry& geometry, int64_t local_rank,
                               std::shared_ptr<const void>& held);

}  // namespace sheaf::multifile

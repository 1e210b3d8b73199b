// multifile/collective/aggregated_read_file: one task's view of a physical file that is read collectively.
//
// Extents that the collector has read for this task are served from memory. For other bytes the task opens
// the file and reads them itself. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "multifile/collective/lazy_file.hpp"
#include "multifile/collective/pending_extents.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

class AggregatedReadFile final : public LazyFile {
 public:
  using LazyFile::LazyFile;

  // Replaces the bytes from which reads are served. `bytes` contains the contents of `extents`, concatenated.
  void take(std::vector<Extent> extents, std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    extents_ = std::move(extents);
    bytes_ = std::move(bytes);
  }

  // Stores what the open has found out about the file. Must be called before the first read. If `unclosed` is
  // true, reads include the boundary blocks that hosts may keep beside the file
  // (multifile/metadata/boundary_blocks_reader). Reads by the task itself throw `foreign` once the file no
  // longer has `identity`.
  void know(bool unclosed, const FileIdentity& identity) {
    unclosed_ = unclosed;
    identity_ = identity;
    if (file_) file_ = prepared(std::move(file_));
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void write_at(std::span<const std::byte> data, int64_t offset) override { real().write_at(data, offset); }
  FileStatus status() override { return file_ ? file_->status() : store_.status(path_); }
  void sync() override { real().sync(); }

 private:
  std::shared_ptr<File> open() override { return prepared(store_.open(path_, Access::read)); }
  std::shared_ptr<File> prepared(std::shared_ptr<File> file) const;
  size_t read_alone(std::span<std::byte> data, int64_t offset);

  std::mutex mutex_;
  bool unclosed_ = false;
  FileIdentity identity_;
  std::vector<Extent> extents_;
  std::vector<std::byte> bytes_;
  // bytes that the task itself has read ahead, for small reads
  std::vector<std::byte> ahead_;
  int64_t ahead_offset_ = 0;
};

}  // namespace sheaf::multifile

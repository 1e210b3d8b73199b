// collective/fetched_file: a physical file as one task of a collectively read multifile sees it.
//
// Extents that the task's collector has read for it are served from memory; for anything else the task opens
// the file and reads itself. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective/held_bytes.hpp"
#include "collective/late_file.hpp"
#include "metadata/metadata_io.hpp"

namespace sheaf {

class FetchedFile final : public LateFile {
 public:
  using LateFile::LateFile;

  // From now on `bytes` are those of `extents`, one behind the other; what was fetched before is dropped.
  void take(std::vector<Extent> extents, std::vector<std::byte> bytes);

  File& real() override;
  // Before anything is read. unclosed: hosts may keep parts of the file beside it (metadata/edges_reader).
  // identity: of the file that was opened.
  void know(bool unclosed, const FileIdentity& identity);

  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void write_at(std::span<const std::byte> data, int64_t offset) override { real().write_at(data, offset); }
  FileStatus status() override;
  void sync() override { real().sync(); }

 private:
  void prepare();
  size_t read_alone(std::span<std::byte> data, int64_t offset);

  std::mutex mutex_;
  bool unclosed_ = false;
  FileIdentity identity_;
  std::vector<Extent> extents_;
  std::vector<std::byte> bytes_;
  // Read ahead by the task itself, for small reads.
  std::vector<std::byte> ahead_;
  int64_t ahead_offset_ = 0;
};

}  // namespace sheaf

// collective/fetched_file: a physical file as one task of a collectively read multifile sees it.
//
// Extents that the task's collector has read for it are served from memory; for anything else the task opens
// the file and reads itself. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "stream/held_bytes.hpp"

namespace sheaf {

class FetchedFile : public File {
 public:
  // `opened` may be null. The store outlives the object.
  FetchedFile(Store& store, std::string path, std::shared_ptr<File> opened)
      : store_(store), path_(std::move(path)), file_(std::move(opened)) {}

  // From now on `bytes` are those of `extents`, one behind the other; what was fetched before is dropped.
  void take(std::vector<Extent> extents, std::vector<std::byte> bytes);

  File& real();  // opened if need be
  // The file was never closed: hosts may keep parts of it beside it (metadata/edges_reader). Before anything
  // is read.
  void rejoin();

  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void write_at(std::span<const std::byte> data, int64_t offset) override { real().write_at(data, offset); }
  FileStatus status() override { return file_ ? file_->status() : store_.status(path_); }
  void resize(int64_t size) override { real().resize(size); }
  void sync() override { real().sync(); }
  int64_t next(Space space, int64_t offset) override { return real().next(space, offset); }
  FileDescriptor descriptor(Whose whose) override { return real().descriptor(whose); }
  const std::string& path() const override { return path_; }
  void close() override;

 private:
  size_t read_alone(std::span<std::byte> data, int64_t offset);

  Store& store_;
  std::string path_;
  std::mutex mutex_;
  std::shared_ptr<File> file_;
  bool unclosed_ = false;
  std::vector<Extent> extents_;
  std::vector<std::byte> bytes_;
  // Read ahead by the task itself, for small reads.
  std::vector<std::byte> ahead_;
  int64_t ahead_offset_ = 0;
};

}  // namespace sheaf

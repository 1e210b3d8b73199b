// multifile/frames/plain_file: provides a File with the uncompressed bytes of tasks that are stored as frames
// (docs/format.md, section 14.4), for readers and tools.
//
// Tasks have the chunks and blocks of their writers. Block b of task t is at geometry(t).offset(b), as in an
// uncompressed file, unless a tool has made the chunks smaller than the blocks. A read decompresses only the
// frames it touches and caches the last one. Frame tables are read once, from the index of the task or from
// frame to frame; they take 32 bytes per frame. Any thread may read, but reads are serialized. Sizes are in
// bytes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "format/header.hpp"
#include "multifile/frames/stored_frames.hpp"

namespace sheaf::multifile {

class PlainFile final : public File {
 public:
  // Loads the stored stream of tasks[index].
  using Load = std::function<void(ReadStream& stream, size_t index)>;
  // `file` is the physical file, shared as long as this object lives. `tasks` are some of its tasks, in the
  // order of their local ranks. Calls `load` now for all tasks, and again later. Throws what read_frames()
  // throws.
  PlainFile(std::shared_ptr<File> file, std::vector<StoredTask> tasks, Load load);

  layout::ChunkGeometry geometry(size_t index) const { return tasks_[index].geometry; }
  BlockSizes sizes_of(size_t index) const {
    const std::vector<int64_t>& sizes = tasks_[index].sizes;
    return {sizes.data(), static_cast<int32_t>(sizes.size())};
  }
  const StoredFrames& stored(size_t index) const { return tasks_[index].frames; }

  int64_t frames_decoded() const { return decoded_; }
  File& stored_file() const { return *file_; }

  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void write_at(std::span<const std::byte>, int64_t) override { read_only(); }
  // Returns the status of the physical file, with an unlimited size.
  FileStatus status() override {
    FileStatus status = file_->status();
    status.size = INT64_MAX;
    return status;
  }
  void resize(int64_t) override { read_only(); }
  void sync() override {}
  int64_t next(Space space, int64_t offset) override { return space == Space::data ? offset : INT64_MAX; }
  const std::string& path() const override { return file_->path(); }
  void close() override { file_->close(); }

 private:
  struct PlainTask {
    StoredTask what;
    StoredFrames frames;
    std::vector<int64_t> sizes;
    layout::ChunkGeometry geometry;  // layout of the uncompressed bytes
  };
  [[noreturn]] void read_only() const { throw file_error(Code::wrong_mode, path(), "is open for reading"); }
  size_t read_block(std::span<std::byte> data, int64_t offset);
  void choose(size_t index);
  void copy_from_frame(size_t index, size_t number, size_t begin, std::span<std::byte> out);

  std::shared_ptr<File> file_;
  std::vector<PlainTask> tasks_;
  Load load_;

  std::mutex mutex_;  // guards the following members
  ReadStream stored_;
  StreamPlaces places_;       // in stored_
  size_t chosen_ = SIZE_MAX;  // index of the task loaded in stored_
  FrameReader frames_;
  std::vector<std::byte> plain_;  // decoded frame: plain_frame_ of plain_task_
  size_t plain_task_ = SIZE_MAX;
  size_t plain_frame_ = 0;
  int64_t decoded_ = 0;
};

// Loads the uncompressed stream of one task, positioned at its start; uses a PlainFile if `header` marks the
// file as compressed. The table of `sizes` must outlive the stream.
void load_stream(ReadStream& stream, const format::Header& header, std::shared_ptr<File> file,
                 const StoredTask& task, BlockSizes sizes);

}  // namespace sheaf::multifile

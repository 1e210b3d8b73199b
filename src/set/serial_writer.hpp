// set/serial_writer: a multifile written by one process that has all tasks in its hands, one of them current.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "creation/new_file.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "mode/open_mode.hpp"
#include "stream/compressed_writer.hpp"
#include "stream/overruns.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

struct SerialWriteRequest {
  std::string path;
  std::span<const int64_t> chunk_sizes;  // requested bytes per task, >= 0
  std::span<const int64_t> globalranks;  // one per task
  int32_t fsblksize = -1;                // bytes; <= 0: the file system's
  bool keep_sizes = false;               // store the sizes as they are instead of rounding them up to blocks
  std::string stored_name = {};          // what the file says it is called; empty: `path`
};

class SerialWriter {
 public:
  // Creates (or truncates) the file and writes META1; task 0 becomes current. Nothing on disk is touched if
  // an argument is wrong; a file that did not exist is removed again if the header cannot be written.
  SerialWriter(Store& store, const SerialWriteRequest& request, const OpenMode& mode);

  int64_t ntasks() const { return static_cast<int64_t>(chunk_sizes_.size()); }
  FileFacts facts() const { return facts_of(header_); }
  const format::Header& header() const { return header_; }
  int64_t skip() const { return layout_.skip; }
  const std::string& path() const { return stream_.file().path(); }
  File& file() { return stream_.file(); }

  int64_t task() const { return task_; }  // the current one
  // Makes another task current, where it was left. Throws out_of_range.
  void select(int64_t task);
  WriteStream& stream() { return compressed_ ? compressed_->stream() : stream_; }

  // What all tasks have written is in the file, and found there whatever becomes of the program
  // (WriteStream::commit).
  void commit();

  // State of any task, the current one included, as its program sees it: of a compressed file, of what is not
  // compressed.
  const TaskBlocks& blocks_of(int64_t task);
  std::vector<int64_t>& chunk_sizes() { return chunk_sizes_; }
  std::vector<int64_t>& globalranks() { return globalranks_; }

  // Writes META2 and completes the file. Throws; the object is closed all the same.
  void close();

  layout::ChunkGeometry geometry(int64_t task) const;

 private:
  SerialWriter(Store& store, const SerialWriteRequest& request, const OpenMode& mode, const NewFile& opened);
  static NewFile open_for_writing(Store& store, const SerialWriteRequest& request);
  void finish();
  void park();
  using Sums = std::vector<std::vector<uint32_t>>;  // data checksums of each task
  Sums take_sums();
  std::optional<Error> look_for_losses(const Sums& sums);
  void write_trailer(const format::Pointer& pointer, const Sums& sums);
  uint32_t piece() const { return extension_ ? extension_->piece : 0; }

  format::Header header_;
  bool durable_ = false;
  std::optional<format::Extension> extension_;
  std::vector<int64_t> chunk_sizes_;
  std::vector<int64_t> globalranks_;
  layout::FileLayout layout_;
  std::vector<TaskBlocks> tasks_;  // parked states; the entry of the current task is stale
  std::vector<bool> unreported_;   // tasks parked since the last commit; empty: none
  OwnOverruns overruns_;
  WriteStream stream_;
  std::unique_ptr<CompressedWriter> compressed_;          // null: what is written is what is stored
  std::vector<CompressedWriter::Task> compressed_tasks_;  // as tasks_
  int64_t task_ = 0;
};

}  // namespace sheaf

// multifile/stream/write_stream: writes the byte stream of one task into its chunks.
//
// Small requests are collected in a buffer and written to the File in transfers that end on multiples of
// their size. Large requests bypass the buffer. The buffer keeps the bytes after the last border of a large
// request, and the next transfer writes them again. Bytes are never written again after a flush, so none that
// a journal records. Local to a task. Not thread-safe. All sizes in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/stream/block_sizes.hpp"
#include "multifile/stream/chunk_writer.hpp"
#include "multifile/stream/stream_buffer.hpp"
#include "multifile/stream/task_blocks.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

class WriteStream {
 public:
  // Requests of at least this size are written directly from the caller's memory (docs/tuning.md).
  static constexpr int64_t direct_bytes = 64 << 10;
  static constexpr int64_t max_buffer_bytes = 256 << 20;  // larger buffers are not used

  // `forbidden` writes no byte twice, for a File that cannot replace bytes.
  enum class Rewriting : uint8_t { allowed, forbidden };
  // Sets the file to write to. `max_buffer` 0: no buffer.
  void bind(std::shared_ptr<File> file, int64_t max_buffer, Rewriting rewriting = Rewriting::allowed) {
    SHEAF_ASSERT(buffer_.size() == 0 && max_buffer >= 0);
    rewriting_ = file->traits().computes_sums ? Rewriting::forbidden : rewriting;
    target().bind(std::move(file));
    buffer_.set_max(std::min(max_buffer, max_buffer_bytes));
  }

  // Makes a task with `blocks` current, laid out by `geometry`. The stream must be flushed. local_rank:
  // number of the task in the physical file.
  void load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank);
  // Flushes and returns the state of the current task. The next one has as many bytes per checksum.
  TaskBlocks park();

  // Appends `data`. A request that fits a chunk is stored in one chunk: if the rest of the current chunk is
  // too small, a new one is begun. A larger request fills the rest and continues over as many chunks as
  // needed. Throws out_of_range for a task of chunk size 0. After an error the stream is unchanged, including
  // buffered bytes, and the program may retry or close.
  void write(std::span<const std::byte> data);

  // Appends `head` and `body` as one request that fills every chunk completely before it begins the next one,
  // as key-value records require. Throws like write(). After an error the stream is unchanged.
  void write_filling(std::span<const std::byte> head, std::span<const std::byte> body);

  // Begins a new chunk unless `bytes` fit into the rest of the current one. Throws out_of_range if they
  // exceed a whole chunk.
  void ensure_free_space(int64_t bytes);

  // A position that return_to() restores. It is valid while the bytes before it are unchanged. `high`
  // includes buffered bytes, because they were accepted.
  struct Mark {
    StreamPosition at;
    int64_t high;
  };
  Mark mark() {
    chunks_.learn();
    return {position(), blocks().high};
  }
  // Discards all bytes written after the mark.
  void return_to(const Mark& mark);

  // Writes buffered bytes to the file and accounts for bytes that the program wrote itself.
  void flush();
  // Flushes, and records the progress of the task in the journal (JournaledFile::commit). Collectively
  // written bytes must be in the file (CollectiveWriter::flush).
  void commit() {
    flush();
    target().commit(chunks_.progress());
  }

  // Returns the handle through which the program shares the position, positioned at the next byte. Created at
  // the first call.
  StdioHandle& share(bool with_stream);
  // Synchronizes and releases the handle. Returns null if the program shares no handle.
  std::unique_ptr<StdioHandle> release_handle() { return chunks_.release_handle(); }
  // Takes a handle and moves it to the stream's position. The stream must be flushed.
  void attach(std::unique_ptr<StdioHandle> handle) {
    SHEAF_ASSERT(handle && buffer_.size() == 0);
    chunks_.attach(std::move(handle));
    buffer_.clear();
  }
  // Must be called when the program could not select its task and would write to the wrong one. Every call
  // that needs the position then first runs `back`, which must call leave() again if it fails. The stream
  // must be flushed.
  void leave(std::function<void()> back) {
    SHEAF_ASSERT(back && buffer_.size() == 0);
    chunks_.leave(std::move(back));
    buffer_.clear();
  }

  // Returns the file and its journal.
  JournaledFile& target() { return chunks_.target(); }
  const JournaledFile& target() const { return chunks_.target(); }
  // Returns the unbuffered part of the stream, for calls that concern the file or the handle.
  ChunkWriter& chunks() { return chunks_; }
  WriteBuffer& buffer() { return buffer_; }

  const layout::ChunkGeometry& geometry() const { return chunks_.geometry(); }
  StreamPosition position() const { return {chunks_.chunk(), chunks_.blocks().position + buffer_.size()}; }
  int64_t file_position() const { return chunks_.offset() + buffer_.size(); }
  int64_t bytes_written() const {
    const TaskBlocks& blocks = chunks_.blocks();
    return blocks.total() + std::max<int64_t>(0, position().offset - blocks.high);
  }
  // Returns the state of the current task. The stream has no other state of its own.
  const TaskBlocks& blocks() {
    chunks_.blocks().high = std::max(chunks_.blocks().high, position().offset);
    return chunks_.blocks();
  }

 private:
  // Returns the bytes from the position to the end of the chunk.
  int64_t room() const { return chunks_.room() - buffer_.size(); }
  template <class Act>
  void write_or_return(int64_t bytes, Act&& act);
  void fill(std::span<const std::byte> data);
  void begin_next_chunk();
  void put(std::span<const std::byte> piece);
  std::span<const std::byte> put_directly(std::span<const std::byte> piece);
  void flush_buffer();

  [[no_unique_address]] WriteBuffer buffer_;  // the next member uses its padding
  Rewriting rewriting_ = Rewriting::allowed;
  ChunkWriter chunks_;  // its position is that of the first byte in the buffer that is not in the file
};

}  // namespace sheaf::multifile

// multifile/stream/read_stream: reads the byte stream of one task from its blocks.
//
// The stream of a task is the concatenation of the recorded bytes of its blocks. Any block may be empty.
// Small requests are served from a read-ahead buffer that never crosses a block boundary; large ones are read
// directly into the caller's memory. Data with checksums are verified piece by piece before they are
// delivered. Local to a task. Not thread-safe. All sizes in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/export.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/stream/block_sizes.hpp"
#include "multifile/stream/write_stream.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

// Place of the checksums of a task's data.
struct SumsPlace {
  int64_t at = 0;          // offset in the file of the task's first checksum
  uint32_t piece = 0;      // bytes per checksum; 0: no checksums
  int32_t local_rank = 0;  // number of the task, for messages
};

class SHEAF_EXPORT ReadStream {
 public:
  // Sets the maximum size of the read-ahead buffer in bytes; 0: no buffer.
  void set_max_buffer(int64_t bytes) {
    SHEAF_ASSERT(bytes >= 0 && bytes <= UINT32_MAX);
    max_buffer_ = static_cast<uint32_t>(bytes);
  }
  int64_t max_buffer() const { return max_buffer_; }

  // Makes the blocks of a task current, at `position`. The table that `sizes` refers to must outlive its use.
  // With `sums`, data are verified in whole pieces. Bytes beyond a chunk are not verified, nor are bytes that
  // the program reads through a stream of its own.
  void load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
            ReadPosition position, SumsPlace sums = {});
  // Returns the position of the current task.
  ReadPosition park() { return {block_, position()}; }

  // Returns the bytes read ahead of the position, all in the current block. Returns none while the program
  // shares the position.
  std::span<const std::byte> ahead() const { return {window_.at, window_.end}; }
  // Skips `bytes` <= ahead().size().
  void skip_ahead(size_t bytes) {
    SHEAF_DEBUG_ASSERT(bytes <= ahead().size());
    window_.at += bytes;
  }

  // Fills `out` from the stream, across block boundaries. Returns the bytes read, fewer only at the end of
  // the task. Throws damaged if the physical file ends inside a block, or if a checksum is wrong. After an
  // error the position is unchanged.
  size_t read(std::span<std::byte> out);
  // Fills `out` from position `from`, where that many bytes must exist. Position and read-ahead stay
  // unchanged. Returns the position after the bytes; at a block boundary, the end of the earlier block.
  ReadPosition read_apart(ReadPosition from, std::span<std::byte> out);

  // Returns the number of bytes left in the stream, at most `limit`.
  int64_t available(int64_t limit);
  // Returns the number of unread bytes of the current block.
  int64_t available_in_block() {
    return sizes_.count == 0 ? 0 : std::max<int64_t>(0, sizes_[block_] - position());
  }

  // Returns true at the end of the task. At the end of any earlier block, moves to the next block and returns
  // false.
  bool at_end();

  // Seek operations return false, and change nothing, if there is no such position.
  // Seeks to offset p of block b; 0 <= p <= size of the block.
  bool seek_block(int64_t block, int64_t offset);
  // Seeks to an offset in the stream. An offset at the end of a block stays in that block.
  bool seek_absolute(int64_t offset);
  // Seeks to `offset` <= 0, relative to the end of the stream.
  bool seek_from_end(int64_t offset);
  // Moves from the end of a block to the start of the next one, if there is one; the stream offset is
  // unchanged.
  void settle() {
    if (available_in_block() == 0 && block_ + 1 < sizes_.count) move(block_ + 1, 0);
  }

  // Returns the handle through which the program shares the position; created at the first call.
  StdioHandle& share(bool with_stream) {
    if (!handle()) attach(std::make_unique<StdioHandle>(*file_, false, with_stream));
    return *handle();
  }
  StdioHandle* handle() const { return shared_ ? shared_->handle.get() : nullptr; }
  // Continues at the position of the handle, and releases the handle. Returns null if the program shares no
  // handle.
  std::unique_ptr<StdioHandle> release_handle();
  void forget_handle() {
    if (handle()) handle()->forget();
    shared_.reset();
  }
  // Takes a handle and moves it to the stream's position.
  void attach(std::unique_ptr<StdioHandle> handle);
  File& file() const { return *file_; }

  StreamWindow& window() { return window_; }
  const layout::ChunkGeometry& geometry() const { return geometry_; }
  const BlockSizes& sizes() const { return sizes_; }
  // Returns the bytes per checksum; 0: no checksums.
  uint32_t piece() const { return uint32_t{piece_pages_} * page; }
  // Returns the number of bytes with checksums at the start of a block.
  int64_t checked_size(int64_t block) const {
    return piece_pages_ == 0 ? 0 : std::min(sizes_[block], geometry_.size);
  }
  // Returns the offset in the file of the checksum that covers `offset` in a block.
  int64_t sums_at(int64_t block, int64_t offset) const;
  int64_t block() const { return block_; }
  // Returns the position in the current block, after synchronization with the handle.
  int64_t position() {
    if (handle()) [[unlikely]]
      learn_from_handle();
    return fetched_ - waiting();
  }
  int64_t file_position() { return geometry_.offset(block_) + position(); }
  // Returns the offset in the stream.
  int64_t bytes_read();

 private:
  static constexpr uint32_t page = 4096;  // divides every piece size
  struct SharedPosition {
    std::unique_ptr<StdioHandle> handle;
    // Verified extent of the block in the buffer.
    int64_t block = -1;
    int64_t begin = 0;
    int64_t end = 0;
  };

  int64_t waiting() const { return window_.end - window_.at; }
  void learn_from_handle();
  void move(int64_t block, int64_t offset);
  size_t fetch(std::span<std::byte> out);
  size_t fetch_checked(std::span<std::byte> out, int64_t end);
  size_t fetch_shared(std::span<std::byte> out, int64_t end);
  void refill(int64_t end, uint32_t unit);
  uint32_t next_ahead();
  void empty_window() { window_.at = window_.end = buffer_.get(); }
  size_t transfer(std::span<std::byte> out);
  // Returns the size of the part of a request for `wanted` bytes at `offset` that consists of whole pieces; 0
  // if `offset` does not begin a piece. `end` is the end of the bytes with checksums in the block.
  int64_t whole_pieces(int64_t offset, int64_t wanted, int64_t end) const {
    if (offset % piece() != 0) return 0;
    return offset + wanted >= end ? end - offset : wanted / piece() * piece();
  }
  // Reads bytes of a block without verifying them.
  void read_plain(ReadPosition from, std::span<std::byte> out) const {
    const size_t n = file_->read_at(out, geometry_.offset(from.block) + from.offset);
    if (n < out.size()) ends_early({from.block, from.offset + static_cast<int64_t>(n)});
  }
  void read_checked(ReadPosition from, std::span<std::byte> out) const;
  [[noreturn]] void ends_early(ReadPosition at) const;

  StreamWindow window_;
  LineMemory buffer_;
  std::shared_ptr<File> file_;
  std::unique_ptr<SharedPosition> shared_;  // allocated by few streams
  layout::ChunkGeometry geometry_;
  BlockSizes sizes_;
  int64_t fetched_ = 0;  // offset in the block of the end of the window
  int64_t sums_at_ = 0;  // offset in the file of the checksums of the block
  int32_t block_ = 0;
  uint32_t capacity_ = 0;
  uint32_t max_buffer_ = 0;
  int32_t local_rank_ = 0;
  uint16_t piece_pages_ = 0;
  uint16_t ahead_ = 0;  // read-aheads since the last seek; the first is small, each next one doubles
};

}  // namespace sheaf::multifile

// stream/read_stream: the stream of bytes of one task, read back from its blocks.
//
// The logical stream of a task is the recorded bytes of its blocks, joined; blocks may be empty, also in the
// middle. Small requests are served from a read-ahead buffer that never crosses a block; large ones go
// straight to the caller's memory. Data with checksums are compared with them, piece by piece, before anybody
// sees them. Local to a task; one thread at a time. All sizes in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/export.hpp"
#include "layout/chunk_layout.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"
#include "stream/block_sizes.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

// Where a reader of a task's data finds their checksums.
struct SumsPlace {
  int64_t at = 0;          // offset in the file of the first one of the task
  uint32_t piece = 0;      // bytes per checksum; 0: there are none
  int32_t local_rank = 0;  // of the task, for messages
};

class SHEAF_EXPORT ReadStream {
 public:
  // Bytes of the read-ahead buffer; 0: none.
  void set_max_buffer(int64_t bytes) { max_buffer_ = static_cast<uint32_t>(bytes); }
  int64_t max_buffer() const { return max_buffer_; }

  // Makes the blocks of a task current, at `position`. The table behind `sizes` outlives its use. With
  // `sums`, what is read is checked, in whole pieces; not what lies behind a chunk, and not what a second
  // stream of the program delivers.
  void load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
            ReadPosition position, SumsPlace sums = {});
  // Where the current task stands.
  ReadPosition park() { return {block_, position()}; }

  // What has been read ahead of the position, all in the current block; nothing while the program shares the
  // position.
  std::span<const std::byte> ahead() const { return {window_.at, window_.end}; }
  // Moves over bytes <= ahead().size().
  void skip_ahead(size_t bytes) { window_.at += bytes; }

  // Fills `out` from the stream, over block borders; returns the bytes read, fewer only at the end of the
  // task. Throws damaged if the physical file ends inside a block, or a checksum is wrong; after an error the
  // position is where it was.
  size_t read(std::span<std::byte> out);
  // The same from another place, where so many bytes are; position and what was read ahead stay as they are.
  // Returns the place behind them, at the end of a block if they end there.
  ReadPosition read_apart(ReadPosition from, std::span<std::byte> out);

  // Bytes left in the stream, counted only as far as `limit`.
  int64_t available(int64_t limit);
  // Bytes of the current block not read yet.
  int64_t available_in_block() {
    return sizes_.count == 0 ? 0 : std::max<int64_t>(0, sizes_[block_] - position());
  }

  // True at the end of the task. At the end of a block with another one behind it: moves there, false.
  bool at_end();

  // Positioning; false (and nothing changed) if there is no such place. Block b, offset p with 0 <= p <= its
  // size.
  bool seek_block(int64_t block, int64_t offset);
  // Offset in the stream; one that is the end of a block stays in that block.
  bool seek_absolute(int64_t offset);
  // Offset <= 0 relative to the end of the stream.
  bool seek_from_end(int64_t offset);
  // Stays, but the end of a block becomes the start of the next one if there is one.
  void settle() {
    if (available_in_block() == 0 && block_ + 1 < sizes_.count) move(block_ + 1, 0);
  }

  // The handle through which the program shares the position; made at the first call.
  StdioHandle& share(bool with_stream) {
    if (!handle()) attach(std::make_unique<StdioHandle>(*file_, false, with_stream));
    return *handle();
  }
  StdioHandle* handle() const { return shared_ ? shared_->handle.get() : nullptr; }
  // Takes the handle away, up to date or (the program has closed its stream) unasked. Null if there is none.
  std::unique_ptr<StdioHandle> release_handle();
  void forget_handle() {
    if (handle()) handle()->forget();
    shared_.reset();
  }
  // Gives one back, which moves to the stream's position.
  void attach(std::unique_ptr<StdioHandle> handle);
  File& file() const { return *file_; }

  Window& window() { return window_; }
  const layout::ChunkGeometry& geometry() const { return geometry_; }
  const BlockSizes& sizes() const { return sizes_; }
  // Bytes per checksum; 0: there are none.
  uint32_t piece() const { return uint32_t{piece_pages_} * page; }
  // Bytes from the begin of a block on that have checksums.
  int64_t checked_size(int64_t block) const {
    return piece_pages_ == 0 ? 0 : std::min(sizes_[block], geometry_.size);
  }
  // Offset in the file of the checksum of what lies at `offset` in a block.
  int64_t sums_at(int64_t block, int64_t offset) const;
  int64_t block() const { return block_; }
  // In the current block, brought up to date with the handle.
  int64_t position() {
    if (handle()) [[unlikely]]
      learn_from_handle();
    return fetched_ - waiting();
  }
  int64_t file_position() { return geometry_.offset(block_) + position(); }
  // Offset in the logical stream.
  int64_t bytes_read();

 private:
  static constexpr uint32_t page = 4096;  // pieces are multiples
  struct Shared {
    std::unique_ptr<StdioHandle> handle;
    // What of the block the buffer holds, checked.
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
  // Bytes of what is wanted at `offset` of a part of a block that ends at `end` and has checksums: those of
  // whole pieces, if it begins with one.
  int64_t whole_pieces(int64_t offset, int64_t wanted, int64_t end) const {
    if (offset % piece() != 0) return 0;
    return offset + wanted >= end ? end - offset : wanted / piece() * piece();
  }
  // Bytes of a block, as they are in the file.
  void read_plain(ReadPosition from, std::span<std::byte> out) const {
    const size_t n = file_->read_at(out, geometry_.offset(from.block) + from.offset);
    if (n < out.size()) ends_early({from.block, from.offset + static_cast<int64_t>(n)});
  }
  void read_checked(ReadPosition from, std::span<std::byte> out) const;
  [[noreturn]] void ends_early(ReadPosition at) const;

  Window window_;
  LineMemory buffer_;
  std::shared_ptr<File> file_;
  std::unique_ptr<Shared> shared_;  // what few streams have
  layout::ChunkGeometry geometry_;
  BlockSizes sizes_;
  int64_t fetched_ = 0;  // offset in the block of the end of the window
  int64_t sums_at_ = 0;  // offset in the file of the checksums of the block
  int32_t block_ = 0;
  uint32_t capacity_ = 0;
  uint32_t max_buffer_ = 0;
  int32_t local_rank_ = 0;
  uint16_t piece_pages_ = 0;
  uint16_t ahead_ = 0;  // read-aheads since the last jump: the first is small, and each twice the one before
};

}  // namespace sheaf

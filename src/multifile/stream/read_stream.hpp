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
#include <utility>

#include "base/export.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/stream/block_reader.hpp"
#include "multifile/stream/stream_buffer.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

class SHEAF_EXPORT ReadStream {
 public:
  // Makes the blocks of a task current, at `position`. The table that `sizes` refers to must outlive its use.
  // With `sums`, data are verified in whole pieces. Bytes beyond a chunk are not verified, nor are bytes that
  // the program reads through a stream of its own.
  void load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
            StreamPosition position, SumsPlace sums = {});

  // Fills `out` from the stream, across block boundaries. Returns the bytes read, fewer only at the end of
  // the task. Throws damaged if the physical file ends inside a block, or if a checksum is wrong. After an
  // error the position is unchanged.
  size_t read(std::span<std::byte> out);

  // Returns the number of bytes left in the stream, at most `limit`.
  int64_t available(int64_t limit);
  // Returns the number of unread bytes of the current block.
  int64_t available_in_block() {
    return sizes().count == 0 ? 0 : std::max<int64_t>(0, sizes()[blocks_.block()] - position().offset);
  }

  // Returns true at the end of the task. At the end of any earlier block, moves to the next block and returns
  // false.
  bool at_end();

  // Seek operations return false, and change nothing, if there is no such position.

  // Seeks to `offset` of a block, 0 <= offset <= size of the block.
  bool seek_block(int64_t block, int64_t offset);
  // Seeks to an offset in the stream. An offset at the end of a block stays in that block.
  bool seek_absolute(int64_t offset);
  // Seeks to `offset` <= 0, relative to the end of the stream.
  bool seek_from_end(int64_t offset);
  // Moves from the end of a block to the start of the next one, if there is one; the stream offset is
  // unchanged.
  void settle() {
    if (available_in_block() == 0 && blocks_.block() + 1 < sizes().count) move({blocks_.block() + 1, 0});
  }

  // Returns the handle through which the program shares the position; created at the first call.
  StdioHandle& share(bool with_stream) {
    if (!handle()) attach(std::make_unique<StdioHandle>(blocks_.file(), false, with_stream));
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

  // Returns the read-ahead buffer. Its window is empty while the program shares the position.
  ReadBuffer& buffer() { return buffer_; }
  // Returns the blocks of the task, for calls that do not depend on the position.
  const BlockReader& blocks() const { return blocks_; }
  const layout::ChunkGeometry& geometry() const { return blocks_.geometry(); }
  const BlockSizes& sizes() const { return blocks_.sizes(); }

  // Returns the position, after synchronization with the handle.
  StreamPosition position() {
    if (handle()) [[unlikely]]
      learn_from_handle();
    return {blocks_.block(), fetched_ - buffer_.left()};
  }
  int64_t file_position() { return blocks_.offset(position()); }
  // Returns the offset in the stream.
  int64_t bytes_read();

 private:
  struct SharedPosition {
    std::unique_ptr<StdioHandle> handle;
    // Verified extent of the block in the buffer.
    int64_t block = -1;
    int64_t begin = 0;
    int64_t end = 0;
  };

  void learn_from_handle();
  void move(StreamPosition to);
  void move_handle() {
    if (handle()) handle()->move_to(blocks_.offset({blocks_.block(), fetched_}));
  }
  size_t fetch(std::span<std::byte> out);
  size_t fetch_checked(std::span<std::byte> out, int64_t end);
  size_t fetch_shared(std::span<std::byte> out, int64_t end);
  void refill(int64_t end, uint32_t unit);
  void transfer(std::span<std::byte> out);
  void read_checked(StreamPosition from, std::span<std::byte> out, int64_t end);

  [[no_unique_address]] BlockReader blocks_;  // the next member uses its padding
  uint16_t ahead_ = 0;  // read-aheads since the last seek; the first is small, each next one doubles
  ReadBuffer buffer_;
  std::unique_ptr<SharedPosition> shared_;  // allocated by few streams
  int64_t fetched_ = 0;                     // offset in the block of the end of the buffer
  std::unique_ptr<SumsAhead> sums_;         // allocated if checksums are kept for later reads
};

}  // namespace sheaf::multifile

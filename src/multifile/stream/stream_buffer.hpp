// multifile/stream/stream_buffer: the buffers of streams. All sizes in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace sheaf::multifile {

// Free (write) or unread (read) bytes that the caller may access without a call: the fast path of small
// records.
struct StreamWindow {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
};

// Memory of a stream with a window in it.
template <class Memory>
class StreamBuffer {
 public:
  // Sets the maximum size; 0: no buffer. A piece with a checksum that is read may exceed it.
  void set_max(int64_t bytes) {
    SHEAF_ASSERT(bytes >= 0 && bytes <= UINT32_MAX);
    max_ = static_cast<uint32_t>(bytes);
  }
  int64_t max() const { return max_; }
  int64_t capacity() const { return capacity_; }
  // Returns the part that the caller may access.
  StreamWindow& window() { return window_; }
  const std::byte* data() const { return memory_.get(); }
  // Makes the window empty: no bytes are held (write) or ahead (read). Memory and contents stay, and
  // ReadStream still uses them while the program shares the position.
  void clear() { window_.at = window_.end = memory_.get(); }

 protected:
  StreamWindow window_;
  Memory memory_;
  uint32_t capacity_ = 0;
  uint32_t max_ = 0;
};

// The bytes of a stream that are not in the file yet. They may follow written bytes: the last ones in the
// file, which a transfer may write again so that it begins on a border. The window is the free part. The
// buffer is initially empty and grows with the amount written, so that a task that writes little holds little
// memory.
class WriteBuffer : public StreamBuffer<std::unique_ptr<std::byte[]>> {
 public:
  // Returns the number of bytes that are not in the file yet.
  int64_t size() const { return held() - written_; }
  // Returns the number of bytes that are in the file already. They precede the others.
  int64_t written() const { return written_; }
  // Returns all bytes: first those of written(), then the others.
  std::span<const std::byte> bytes() const { return {memory_.get(), window_.at}; }
  bool is_full() const { return window_.at == window_.end; }

  // Appends as many bytes of `data` as fit into the window. Returns the rest.
  std::span<const std::byte> append(std::span<const std::byte> data) {
    const auto n = std::min(data.size(), static_cast<size_t>(window_.end - window_.at));
    std::memcpy(window_.at, data.data(), n);
    window_.at += n;
    return data.subspan(n);
  }
  // Discards all bytes that are not in the file but the first `size`.
  void return_to(int64_t size) { window_.at = memory_.get() + written_ + size; }
  // Discards all bytes.
  void clear() {
    written_ = 0;
    StreamBuffer::clear();
  }
  void release() {
    memory_.reset();
    capacity_ = 0;
    clear();
  }
  // Replaces all bytes by `tail`, which is in the file. The buffer must have room for it and is full then.
  void keep_written(std::span<const std::byte> tail) {
    SHEAF_ASSERT(std::ssize(tail) <= capacity());
    if (!tail.empty()) std::memcpy(memory_.get(), tail.data(), tail.size());
    written_ = static_cast<uint32_t>(tail.size());
    window_.at = window_.end = memory_.get() + written_;
  }

  // Enlarges the buffer to hold `wanted` more bytes if possible. Returns false and changes nothing if it has
  // its maximum size.
  bool grow(int64_t wanted) {
    if (capacity_ >= max_) return false;
    const int64_t before = held();
    const auto grown =
        static_cast<uint32_t>(std::min(max(), std::max({first_bytes, before + wanted, 4 * capacity()})));
    auto larger = std::make_unique_for_overwrite<std::byte[]>(grown);
    if (before > 0) std::memcpy(larger.get(), memory_.get(), static_cast<size_t>(before));
    memory_ = std::move(larger);
    capacity_ = grown;
    window_.at = window_.end = memory_.get() + before;
    return true;
  }
  // Opens the window after all bytes. The first byte that is not in the file will be at `offset` there.
  // `room` is the number of bytes that the chunk has from there on. The window ends at the end of the buffer
  // or of the chunk. A buffer of maximum size ends at a multiple of its size in the file. The page cache then
  // stores each transfer as few large pages (docs/tuning.md).
  void open(int64_t offset, int64_t room) {
    const int64_t to_border = capacity() - (offset - written()) % capacity();
    const bool ends_at_border = capacity_ == max_ && to_border > held();
    window_.end = memory_.get() + std::min(ends_at_border ? to_border : capacity(), written() + room);
    SHEAF_DEBUG_ASSERT(window_.at < window_.end && window_.end <= memory_.get() + capacity());
  }

 private:
  static constexpr int64_t first_bytes = 32;  // small, because most tasks of very large jobs write little

  int64_t held() const { return window_.at - memory_.get(); }

  uint32_t written_ = 0;  // first bytes that are in the file
};

// Bytes of one block that were read ahead of the position of a stream.
class ReadBuffer : public StreamBuffer<LineMemory> {
 public:
  // Returns the bytes ahead of the position. Returns none while the program shares the position.
  std::span<const std::byte> ahead() const { return {window_.at, window_.end}; }
  int64_t left() const { return window_.end - window_.at; }
  // Skips `bytes` <= left().
  void skip(size_t bytes) {
    SHEAF_DEBUG_ASSERT(bytes <= ahead().size());
    window_.at += bytes;
  }
  // Copies as many bytes as are ahead to the start of `out`. Returns their number.
  size_t take(std::span<std::byte> out) {
    const size_t n = std::min(out.size(), ahead().size());
    std::memcpy(out.data(), window_.at, n);
    window_.at += n;
    return n;
  }

  // Returns the number of bytes before and ahead of the position, from data() on.
  int64_t size() const { return window_.end - memory_.get(); }
  // Makes the last `bytes` <= size() bytes those ahead.
  void return_to(int64_t bytes) { window_.at = window_.end - bytes; }
  // Discards all bytes and returns memory for `bytes` others.
  std::span<std::byte> make_room(size_t bytes) {
    if (capacity_ < bytes) {
      memory_.reset();
      capacity_ = 0;  // until the allocation succeeds
      window_ = {};
      memory_ = line_memory(bytes);
      capacity_ = static_cast<uint32_t>(bytes);
    }
    clear();
    return {memory_.get(), bytes};
  }
  // Opens the window on bytes in the memory of make_room(), from byte `begin` on.
  void open(std::span<std::byte> bytes, int64_t begin) {
    window_ = {bytes.data() + begin, bytes.data() + bytes.size()};
  }
};

}  // namespace sheaf::multifile

// format/frame: the frames of a compressed stream and the index that follows them (docs/format.md, section
// 14.4).
//
// Pure functions between bytes and structs, little endian regardless of the byte order of the file. Sizes and
// offsets in bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t frame_head_size = 40;
inline constexpr int64_t index_entry_size = 32;
inline constexpr int64_t index_end_size = 32;
inline constexpr uint32_t default_frame = 256 << 10;
inline constexpr uint32_t largest_frame = 16 << 20;  // plain bytes
inline constexpr uint32_t smallest_frame = 1 << 10;  // minimum that a user may choose; frames may be shorter

// A position in the plain data of a task, which has blocks like an uncompressed stream.
struct PlainPlace {
  int32_t block = 0;
  int64_t offset = 0;  // in the block
  auto operator<=>(const PlainPlace&) const = default;
};

// The head of a frame, which precedes its stored bytes.
struct FrameHead {
  enum class FrameKind : uint8_t { data, index };
  FrameKind kind = FrameKind::data;
  Codec codec = Codec::none;  // none: the plain bytes are stored unchanged
  uint8_t shuffle = 0;        // bytes of an element; 0 or 1: not shuffled
  uint32_t stored = 0;        // bytes after the head
  uint32_t plain = 0;         // data: bytes after decompression; index: number of entries
  uint32_t sum = 0;           // data: CRC32C of the plain bytes; index: of the stored bytes
  PlainPlace at = {};         // position of the first plain byte

  int64_t size() const { return frame_head_size + stored; }
  bool operator==(const FrameHead&) const = default;
};

std::array<std::byte, frame_head_size> encode(const FrameHead& head);
// Decodes a head. Returns nullopt if the bytes are no head, or if the head's sizes exceed the limits above.
std::optional<FrameHead> decode_frame(std::span<const std::byte, frame_head_size> bytes);

// One frame of a task.
struct Frame {
  int64_t stored = 0;  // position of its head in the stored stream
  PlainPlace at;
  uint32_t used = 0;  // number of valid plain bytes, from the first on
  uint32_t size = 0;  // bytes including the head

  bool operator==(const Frame&) const = default;
};

// Returns true if a frame at `at` can follow frames that end at `end`. `first`: no frames precede it.
inline bool continues(const PlainPlace& at, const PlainPlace& end, bool first) {
  return at == end || (!first && at.offset == 0 && at.block == int64_t{end.block} + 1);
}

// Decodes an index in parts, so that no caller has to hold the complete index in memory.
class IndexDecoder {
 public:
  // Begins to decode a supposed index at offset `stored` of the stored stream. `head` contains its first
  // bytes.
  explicit IndexDecoder(std::span<const std::byte, frame_head_size> head, int64_t stored);
  // Returns false if the bytes are no index or contain impossible values. The frames appended so far are then
  // invalid.
  bool good() const { return good_; }
  int64_t bytes_left() const { return left_; }
  // Decodes the next bytes of the index and appends their frames to `frames`. The caller must pass at most
  // bytes_left() bytes, and a multiple of index_entry_size. The end of the index counts as one entry.
  void add(std::span<const std::byte> bytes, std::vector<Frame>& frames);
  // Returns true if the index is complete and its checksum is correct.
  bool is_whole() const { return good_ && left_ == 0 && sum_ == expected_; }

 private:
  int64_t stored_;
  int64_t left_ = 0;
  uint32_t sum_ = 0, expected_ = 0;
  bool good_ = false;
  int64_t least_ = 0;  // minimum position of the next frame
  PlainPlace end_;
  bool first_ = true;
};

// The frames of a task in the order of its plain data. Each begins at the end of the preceding frame, or at
// the start of the next block.
class FrameTable {
 public:
  // Adds the next frame of the stored stream. A frame that begins before the end of existing frames replaces
  // their data from its start on. Returns false if it cannot follow any frame; the table is then invalid.
  bool add(const FrameHead& head, int64_t stored);

  const std::vector<Frame>& frames() const { return frames_; }
  // Drops the first `count` frames. Frames added later can then no longer replace their data.
  void forget_first(size_t count) {
    SHEAF_ASSERT(count <= frames_.size());
    frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Returns the position after the last plain byte.
  PlainPlace end() const;
  std::vector<int64_t> block_sizes() const;  // one per block, at least one
  // Returns the frame that contains the plain byte at `at`, which must exist.
  size_t find(const PlainPlace& at) const;

  // Returns the index as a complete frame, including its head, to be stored at `stored`. Returns nullopt if
  // there are too many frames for one index.
  std::optional<std::vector<std::byte>> encode_index(int64_t stored) const;
  // Takes the frames that an IndexDecoder has appended.
  explicit FrameTable(std::vector<Frame> frames) : frames_(std::move(frames)) {}
  FrameTable() = default;

 private:
  bool continues(const PlainPlace& at) const { return format::continues(at, end(), frames_.empty()); }
  std::vector<Frame> frames_;
};

// Decodes the last bytes of an index. Returns the position of the index head in a stored stream of
// `stream_size` bytes, or nullopt if the bytes do not end an index.
std::optional<int64_t> decode_index_end(std::span<const std::byte, index_end_size> bytes,
                                        int64_t stream_size);

}  // namespace sheaf::format

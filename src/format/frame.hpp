// format/frame: the frames that the stream of a task consists of when it is compressed, and the index behind
// them (docs/format.md, section 14.4).
//
// Pure functions between bytes and structs, little endian whatever the byte order of the file. Sizes and
// offsets in bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t frame_head_size = 40;
inline constexpr int64_t index_entry_size = 32;
inline constexpr int64_t index_end_size = 32;
inline constexpr uint32_t default_frame = 256 << 10;
inline constexpr uint32_t largest_frame = 16 << 20;  // plain bytes
inline constexpr uint32_t smallest_frame = 1 << 10;  // that a writer is told to make; frames may be shorter

// A place in the plain data of a task, which has blocks as an uncompressed stream has.
struct PlainPlace {
  int32_t block = 0;
  int64_t offset = 0;  // in the block
  auto operator<=>(const PlainPlace&) const = default;
};

// What stands in front of the stored bytes of a frame.
struct FrameHead {
  enum class Kind : uint8_t { data, index };
  Kind kind = Kind::data;
  Codec codec = Codec::none;  // none: the plain bytes themselves
  uint8_t shuffle = 0;        // bytes of an element; 0 or 1: not shuffled
  uint32_t stored = 0;        // bytes behind the head
  uint32_t plain = 0;         // bytes they stand for; of an index: its entries
  uint32_t sum = 0;           // CRC32C of the plain bytes; of an index: of its stored bytes
  PlainPlace at = {};         // of the first plain byte

  int64_t size() const { return frame_head_size + stored; }
  bool operator==(const FrameHead&) const = default;
};

std::array<std::byte, frame_head_size> encode(const FrameHead& head);
// Nothing if the bytes are no head of a frame that can be: what it says of sizes is within the bounds above.
std::optional<FrameHead> decode_frame(std::span<const std::byte, frame_head_size> bytes);

// One frame of a task.
struct Frame {
  int64_t stored = 0;  // where its head is in the stored stream
  PlainPlace at;
  uint32_t used = 0;  // plain bytes of it that count, from its first on
  uint32_t size = 0;  // bytes it takes, head included

  bool operator==(const Frame&) const = default;
};

// Whether a frame at `at` can follow others that end at `end`; `first`: it has none before it.
inline bool continues(const PlainPlace& at, const PlainPlace& end, bool first) {
  return at == end || (!first && at.offset == 0 && at.block == int64_t{end.block} + 1);
}

// Takes an index apart that comes in pieces, so that nobody needs all of it.
class IndexDecoder {
 public:
  // The first bytes of what should be an index, stored at `stored`.
  explicit IndexDecoder(std::span<const std::byte, frame_head_size> head, int64_t stored);
  // False: this is no index, or one that says what cannot be. What it has said is then of no use.
  bool good() const { return good_; }
  int64_t bytes_left() const { return left_; }
  // The next bytes, at most bytes_left(), in pieces of whole entries (its end has the size of one). Appends
  // their frames.
  void add(std::span<const std::byte> bytes, std::vector<Frame>& frames);
  // All has come, and is what was written.
  bool is_whole() const { return good_ && left_ == 0 && sum_ == expected_; }

 private:
  int64_t stored_;
  int64_t left_ = 0;
  uint32_t sum_ = 0, expected_ = 0;
  bool good_ = false;
  int64_t least_ = 0;  // where the next frame can be stored
  PlainPlace end_;
  bool first_ = true;
};

// The frames of a task in the order of its plain data. Each begins where the one before ends, or with the
// next block.
class FrameTable {
 public:
  // The next frame of the stored stream. One that begins before the end of those there are replaces what they
  // hold from there on. False if it can follow none of them: the table is then of no use.
  bool add(const FrameHead& head, int64_t stored);

  const std::vector<Frame>& frames() const { return frames_; }
  // Makes it a table of the frames behind these, which can then not be replaced.
  void forget_first(size_t count) {
    frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Behind the last plain byte.
  PlainPlace end() const;
  std::vector<int64_t> block_sizes() const;  // at least one
  // The frame that holds the plain byte at this place, which must be there.
  size_t find(const PlainPlace& at) const;

  // The index: a whole frame, head included, to be stored at `stored`. Nothing if the frames are too many for
  // one.
  std::optional<std::vector<std::byte>> encode_index(int64_t stored) const;
  // Of frames that an IndexDecoder has found.
  explicit FrameTable(std::vector<Frame> frames) : frames_(std::move(frames)) {}
  FrameTable() = default;

 private:
  bool continues(const PlainPlace& at) const { return format::continues(at, end(), frames_.empty()); }
  std::vector<Frame> frames_;
};

// The last bytes of an index, by which it is found from the end of a stored stream of `stream_size` bytes:
// where its head is. Nothing: that is no end of an index.
std::optional<int64_t> decode_index_end(std::span<const std::byte, index_end_size> bytes,
                                        int64_t stream_size);

}  // namespace sheaf::format

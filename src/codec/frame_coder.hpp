// codec/frame_coder: plain bytes to frames and back (docs/format.md, section 14.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "codec/codec.hpp"
#include "format/frame.hpp"

namespace sheaf::codec {

// How the streams of a multifile are compressed.
struct Compression {
  Codec codec = Codec::none;
  int8_t level = 0;
  uint8_t shuffle = 0;                     // bytes of an element; 0: not shuffled
  uint32_t frame = format::default_frame;  // plain bytes of a frame
  int32_t threads = automatic_threads;     // that compress beside the one that writes
  static constexpr int32_t automatic_threads = -1;

  bool on() const { return codec != Codec::none; }
};

// Memory for at most `size` bytes, taken when first needed, that need no initial value.
class Scratch {
 public:
  std::span<std::byte> at_least(size_t bytes) {
    if (size_ < bytes) {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return {memory_.get(), bytes};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t size_ = 0;
};

// Not for several threads at once. Holds memory for a frame.
class FrameEncoder {
 public:
  explicit FrameEncoder(const Compression& how) : how_(how), compressor_(how.codec, how.level) {}

  // The frame, head included, of `plain` (at most format::largest_frame bytes) at a place; valid until `out`
  // changes. Bytes that do not become fewer are stored as they are.
  std::span<const std::byte> encode(const format::PlainPlace& at, std::span<const std::byte> plain,
                                    Scratch& out);

 private:
  Compression how_;
  Compressor compressor_;
  Scratch shuffled_;
};

// Not for several threads at once. Holds memory for a frame.
class FrameDecoder {
 public:
  // Fills `out`, of head.plain bytes, from the stored bytes behind a head. Throws damaged, or unsupported
  // without the codec; `where` says which frame of what, for messages ("'a.sion': task 3, frame at offset 0
  // of block 0").
  void decode(const format::FrameHead& head, std::span<const std::byte> stored, std::span<std::byte> out,
              std::string_view where);

 private:
  Decompressor decompressor_;
  Scratch shuffled_;
};

}  // namespace sheaf::codec

// format/codec/frame_coder: converts plain bytes to frames and back (docs/format.md, section 14.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "format/codec/codec.hpp"
#include "format/frame.hpp"

namespace sheaf::codec {

// Compression settings of the streams of a multifile.
struct Compression {
  Codec codec = Codec::none;
  int8_t level = 0;
  uint8_t shuffle = 0;                     // bytes of an element; 0: no shuffling
  uint32_t frame = format::default_frame;  // plain bytes per frame
  int32_t threads = automatic_threads;     // compression threads in addition to the writing thread
  static constexpr int32_t automatic_threads = -1;

  bool on() const { return codec != Codec::none; }
};

// A reusable buffer of uninitialized memory that grows on demand.
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

// Encodes frames. Holds memory for one frame. Not thread-safe.
class FrameEncoder {
 public:
  explicit FrameEncoder(const Compression& how) : how_(how), compressor_(how.codec, how.level) {}

  // Encodes `plain`, at most format::largest_frame bytes at position `at` of the plain data. Returns the
  // frame, including its head, which is valid until `out` changes. Incompressible bytes are stored unchanged.
  std::span<const std::byte> encode(const format::PlainPlace& at, std::span<const std::byte> plain,
                                    Scratch& out);

 private:
  Compression how_;
  Compressor compressor_;
  Scratch shuffled_;
};

// Decodes frames. Holds memory for one frame. Not thread-safe.
class FrameDecoder {
 public:
  // Fills `out` (head.plain bytes) from the stored bytes that follow a frame head. Throws `damaged`, or
  // `unsupported` if the codec is unavailable. `where` identifies the frame in messages ("'a.sion': task 3,
  // frame at offset 0 of block 0").
  void decode(const format::FrameHead& head, std::span<const std::byte> stored, std::span<std::byte> out,
              std::string_view where);

 private:
  Decompressor decompressor_;
  Scratch shuffled_;
};

}  // namespace sheaf::codec

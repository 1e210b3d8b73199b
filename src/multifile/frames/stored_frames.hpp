// multifile/frames/stored_frames: locates the frames of a stored stream (docs/format.md, section 14.4) by its
// index or from head to head. Sizes in bytes.
#pragma once

#include <functional>
#include <string>

#include "base/export.hpp"
#include "format/codec/frame_coder.hpp"
#include "format/frame.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

// Contents of a stored stream.
struct StoredFrames {
  format::FrameTable table;
  bool indexed = false;      // ends with an index of all frames
  int64_t stored_bytes = 0;  // bytes of whole frames; an incomplete last frame is not counted
};

// Place of a stored stream, and its name in messages.
struct StoredTask {
  int64_t task = 0;                // for messages
  layout::ChunkGeometry geometry;  // layout of its chunks in the physical file
  bool unclosed = false;           // the end of the stream may be missing
  SumsPlace sums = {};             // checksums of the stored bytes
};

// Returns the frames of the stream that `stored` has loaded, which take 32 bytes of memory each. Throws
// damaged, naming path, task and offset, if a frame is invalid, or if the stream of a closed file ends inside
// a frame.
StoredFrames read_frames(ReadStream& stored, const StoredTask& task);

// Calls visit(frame) for the frames that read_frames() would return, but holds only some frames in memory.
// visit() may move the stream. Throws like read_frames(), and also if a frame replaces one that is more than
// 2^18 frames before it.
SHEAF_EXPORT void for_each_frame(ReadStream& stored, const StoredTask& task,
                                 const std::function<void(const format::Frame&)>& visit);

// Reads and decompresses frames. Holds memory for the largest frame, compressed and uncompressed.
class FrameReader {
 public:
  // Reads a frame of the stream that `stored` has loaded; `places` are those of that stream. Throws damaged
  // if the stream has another frame there. The uncompressed size in the returned head is at least frame.used.
  const format::FrameHead& read(ReadStream& stored, const StreamPlaces& places, const StoredTask& task,
                                const format::Frame& frame);
  // Decompresses the frame read last into `out`, of head.plain bytes. Throws damaged.
  void decode(std::span<std::byte> out) { decoder_.decode(head_, bytes_, out, where_); }

 private:
  codec::FrameDecoder decoder_;
  codec::Scratch stored_;
  std::span<const std::byte> bytes_;
  format::FrameHead head_;
  std::string where_;
};

}  // namespace sheaf::multifile

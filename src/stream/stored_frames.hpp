// stream/stored_frames: the frames that a stored stream consists of (docs/format.md, section 14.4), found
// by its index or from head to head. Sizes in bytes.
#pragma once

#include <functional>
#include <string>

#include "base/export.hpp"
#include "codec/frame_coder.hpp"
#include "format/frame.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// What is in a stored stream.
struct StoredFrames {
  format::FrameTable table;
  bool indexed = false;      // ends with an index of all frames
  int64_t stored_bytes = 0;  // of whole frames: more only where something is missing behind them
};

// Where the stored streams are, and what messages call them.
struct StoredTask {
  int64_t task = 0;                // for messages
  layout::ChunkGeometry geometry;  // of its chunks in the physical file
  bool unclosed = false;           // the end of the stream may be missing
  SumsPlace sums = {};             // of the stored bytes
};

// The frames of the stream that `stored` has loaded: 32 bytes for each. Throws damaged, naming path, task and
// offset, for what is no frame, and for a stream that ends inside one unless its file was not closed.
StoredFrames read_frames(ReadStream& stored, const StoredTask& task);

// Calls visit for the same frames, which may move the stream, but holds only some of them: a stream in which
// a frame replaces one more than 2^18 frames before it is damaged. Throws as read_frames().
SHEAF_EXPORT void for_each_frame(ReadStream& stored, const StoredTask& task,
                                 const std::function<void(const format::Frame&)>& visit);

// Gets the plain bytes of frames. Holds memory for the largest, stored and not.
class FrameReader {
 public:
  // Reads a frame of the stream that `stored` has loaded and `places` know. Throws damaged if it is another
  // one. Its head says how many plain bytes it has; as many as frame.used, or more.
  const format::FrameHead& read(ReadStream& stored, const StreamPlaces& places, const StoredTask& task,
                                const format::Frame& frame);
  // Fills `out`, of head.plain bytes, with those of the frame that was read last. Throws damaged.
  void decode(std::span<std::byte> out) { decoder_.decode(head_, bytes_, out, where_); }

 private:
  codec::FrameDecoder decoder_;
  codec::Scratch stored_;
  std::span<const std::byte> bytes_;
  format::FrameHead head_;
  std::string where_;
};

}  // namespace sheaf

// multifile/frames/captured_frames: frames of a task that are kept uncompressed in memory until they are
// compressed in the background (docs/async.md).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "format/frame.hpp"
#include "storage/background/capture_memory.hpp"
#include "storage/background/write_batch.hpp"

namespace sheaf::multifile {

// Where the memory comes from, and the save that the bytes belong to.
struct FrameCapture {
  CaptureMemory& memory;
  std::shared_ptr<WriteBatch> batch;
};

// In the order of the frames. Not thread-safe.
class CapturedFrames {
 public:
  struct Captured {
    format::PlainPlace at;
    std::span<const std::byte> plain;
  };

  bool empty() const { return pieces_.empty(); }
  const Captured& front() const { return pieces_.front().frames.front(); }
  // Returns the position after the last frame, which must exist.
  format::PlainPlace end() const;
  int64_t bytes() const { return bytes_; }    // uncompressed
  int64_t frames() const { return frames_; }  // number

  // Copies a frame. Returns false, and changes nothing, if the budget of the host is exhausted or the frame
  // is larger than a unit of captured memory. Throws std::bad_alloc.
  bool add(const FrameCapture& to, const format::PlainPlace& at, std::span<const std::byte> plain);
  // Removes the first frame.
  void pop();

 private:
  struct FramesOfPiece {
    std::shared_ptr<CapturePiece> piece;
    std::deque<Captured> frames = {};  // never empty between calls
  };

  std::deque<FramesOfPiece> pieces_;
  int64_t bytes_ = 0;
  int64_t frames_ = 0;
};

}  // namespace sheaf::multifile

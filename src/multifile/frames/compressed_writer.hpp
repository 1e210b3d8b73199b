// multifile/frames/compressed_writer: stores a task's stream of uncompressed bytes as frames (docs/format.md,
// section 14.4).
//
// Uses two WriteStreams. The program writes to the upper stream, which fills chunks as if nothing were
// compressed. The CompressedWriter divides the output of the upper stream into frames. It appends the frames
// to the lower stream, which writes to the physical file. A program therefore sees the same blocks and
// positions with and without compression. Local. Not thread-safe. Sizes in bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "format/codec/frame_queue.hpp"
#include "format/frame.hpp"
#include "multifile/frames/captured_frames.hpp"
#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile {

class CompressedWriter {
 public:
  // State of a task that is not current.
  struct CompressedTask {
    TaskBlocks blocks;          // uncompressed
    format::FrameTable frames;  // stored
    bool indexed = false;       // an index of all frames is stored after them
    format::PlainPlace pending_at;
    std::vector<std::byte> pending;  // uncompressed bytes not yet in a frame
    // Frames that follow those of the table, with capture(); null: none yet.
    std::unique_ptr<CapturedFrames> captured = nullptr;
  };

  // Writes frames to `stored`, which must outlive the object. `how.threads` must be >= 0. Throws unsupported,
  // with `path` in the message, if the codec is missing.
  CompressedWriter(WriteStream& stored, const codec::Compression& how, std::string_view path);
  ~CompressedWriter();

  // Set if a failed commit has left a different task loaded than the one that the program selected. The value
  // is the index of the selected task.
  std::optional<size_t> left;
  // State of all tasks of the process, by index; the entry of the current task is stale.
  std::vector<CompressedTask> parked;

  // From now on keeps frames uncompressed in captured memory, as far as there is any, until they are stored
  // by store_captured() or finish().
  void capture(FrameCapture capture) { capture_.emplace(std::move(capture)); }
  bool captures() const { return capture_.has_value(); }
  // Compresses and stores the first captured frames of the current task, until these have at least `bytes`
  // uncompressed bytes. Returns true if no captured frames are left.
  bool store_captured(int64_t bytes);
  // Returns an upper bound on the bytes that the current task will have stored after finish(), if it writes
  // no more.
  int64_t stored_bound() const;

  WriteStream& stream() { return plain_; }
  const codec::Compression& compression() const { return how_; }

  // Makes a task current. Call after stored.load(), with the result of park() for the task and the geometry
  // of its chunks.
  void load(CompressedTask task, int64_t local_rank, const layout::ChunkGeometry& chunks);
  // Returns the state of the current task. Call before stored.park(). The state contains the bytes not yet in
  // a frame. If those of all parked tasks would exceed max_parked bytes, ends the frame instead. If it
  // throws, the task stays current.
  CompressedTask park();

  // Ends the current frame. All bytes written so far are then in the stored stream, which may buffer them, or
  // captured.
  void flush();
  // Flushes, stores captured frames and appends the index. The task accepts no further writes.
  void finish();

 private:
  class Sink;
  std::shared_ptr<Sink> sink_;
  const codec::Compression how_;
  std::optional<FrameCapture> capture_;
  WriteStream plain_;
  int64_t parked_bytes_ = 0;
};

// Returns the state from which a task with these frames continues when its file is appended to.
CompressedWriter::CompressedTask appended_task(format::FrameTable frames, bool indexed);

}  // namespace sheaf::multifile

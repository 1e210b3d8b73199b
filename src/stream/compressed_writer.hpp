// stream/compressed_writer: a task's stream of plain bytes that is stored as frames (docs/format.md,
// section 14.4).
//
// Two WriteStreams, one above the other: the program writes to the upper one, which decides about chunks as
// if nothing were compressed; what leaves it is cut into frames, and these are appended to the lower one, the
// stream of the physical file. So a program sees the same blocks and positions with and without compression.
// Local; one thread at a time. Sizes in bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/frame_queue.hpp"
#include "format/frame.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

class CompressedWriter {
 public:
  // One task, while another one is current.
  struct Task {
    TaskBlocks blocks;          // plain
    format::FrameTable frames;  // stored
    bool indexed = false;       // an index of all of them is stored behind them
    format::PlainPlace pending_at;
    std::vector<std::byte> pending;  // plain bytes that no frame holds yet
  };

  // `stored` outlives the object. how.threads >= 0. Throws unsupported, naming `path`, if the codec is
  // missing.
  CompressedWriter(WriteStream& stored, const codec::Compression& how, std::string_view path);
  ~CompressedWriter();

  // The task that is current for the program, while a commit that failed stands elsewhere.
  std::optional<size_t> left;
  // The other tasks of the process, by index; the entry of the current one is stale.
  std::vector<Task> parked;

  WriteStream& stream() { return plain_; }
  const codec::Compression& compression() const { return how_; }

  // After stored.load(), with what park() has given for this task and the geometry of its chunks.
  void load(Task task, int64_t local_rank, const layout::ChunkGeometry& chunks);
  // Before stored.park(). What no frame holds yet is kept in memory, up to a bound over all parked tasks.
  // Throws; then the task is still the current one.
  Task park();

  // Ends the current frame. All that was written is then in the stored stream, which may buffer it.
  void flush();
  // flush(), and the index: nothing more will be written to this task.
  void finish();

 private:
  class Sink;
  std::shared_ptr<Sink> sink_;
  const codec::Compression how_;
  WriteStream plain_;
  int64_t parked_bytes_ = 0;
};

// What a stream holds so far, to go on from there.
CompressedWriter::Task appended_task(format::FrameTable frames, bool indexed);

}  // namespace sheaf

#include "multifile/frames/compressed_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "multifile/frames/constants.hpp"

namespace sheaf::multifile {

using format::PlainPlace;

using namespace frame_constants;

namespace {

bool holds_frames(const std::unique_ptr<CapturedFrames>& captured) { return captured && !captured->empty(); }

}  // namespace

// The file that the uncompressed stream writes to. Its chunks have the offsets of the task's chunks, but no
// bytes are written there.
//
// A write at an earlier position discards the bytes after that position, because the call that wrote them has
// failed. Frames that are already stored stay in the file, but readers let the next frame replace them.
class CompressedWriter::Sink final : public File, public ChunkWatch {
 public:
  // `plain` is the stream that writes to this file.
  Sink(WriteStream& stored, const WriteStream& plain, const codec::Compression& how,
       const std::optional<FrameCapture>& capture)
      : stored_(stored), plain_(plain), frame_(how.frame), queue_(how), capture_(capture) {}

  void load(const layout::ChunkGeometry& chunks, CompressedTask task) {
    chunks_ = chunks;
    task_ = std::move(task);
    submitted_ = holds_frames(task_.captured) ? task_.captured->end() : task_.frames.end();
    stored_bytes_ = stored_.bytes_written();
    counts_ = {};
  }

  // Returns the state of the task without its blocks. All stored bytes are then in the file, so parking the
  // stored stream cannot fail.
  CompressedTask park() {
    go_to(end_of_plain());
    if (task_.pending_at < submitted_) submit_pending();  // discards what a failed write left in frames
    store_frames(true);
    stored_.flush();
    return std::exchange(task_, {});
  }

  int64_t pending() const { return std::ssize(task_.pending); }

  // Ends the current frame. The stored stream then contains all bytes before the position of the uncompressed
  // stream, and no later ones.
  void end_frame() {
    go_to(end_of_plain());
    if (has_news()) submit_pending();
    store_frames(true);
  }

  bool store_captured(int64_t bytes) {
    for (; holds_frames(task_.captured) && bytes > 0; bytes -= store_oldest()) continue;
    if (!holds_frames(task_.captured)) store_frames(true);
    return !holds_frames(task_.captured);
  }

  int64_t stored_bound() const {
    SHEAF_ASSERT(queue_.empty());
    const int64_t captured = task_.captured ? task_.captured->frames() : 0;
    const int64_t frames = std::ssize(task_.frames.frames()) + captured;
    return stored_bytes_ + (task_.captured ? task_.captured->bytes() : 0) +
           captured * format::frame_head_size + format::frame_head_size + frames * format::index_entry_size +
           format::index_end_size;
  }

  void write_index() {
    if (task_.indexed || task_.frames.frames().size() <= few_frames) return;
    if (const auto index = task_.frames.encode_index(stored_bytes_)) {
      stored_.write_filling(*index, {});
      stored_bytes_ += std::ssize(*index);
      task_.indexed = true;
    }
  }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const int64_t in_chunks = offset - chunks_.start;
    const int64_t block = in_chunks / chunks_.skip;
    if (block > INT32_MAX) throw file_error(Code::out_of_range, path(), "a task of more than 2^31 blocks");
    go_to({static_cast<int32_t>(block), in_chunks % chunks_.skip});
    while (!data.empty()) {
      if (task_.pending.empty() && data.size() >= frame_) {
        submit(data.first(frame_));
        data = data.subspan(frame_);
        continue;
      }
      const auto piece = data.first(std::min(data.size(), frame_ - std::min(frame_, task_.pending.size())));
      task_.pending.insert(task_.pending.end(), piece.begin(), piece.end());
      data = data.subspan(piece.size());
      if (task_.pending.size() >= frame_) submit_pending();
    }
    if (!queue_.has_threads()) store_frames(true);
  }

  // Called when the program has completed a chunk. The frames of the chunk are recorded in the journal once
  // they are stored. Bytes that a failed write left beyond the end of the chunk are excluded.
  void before_writing(int64_t) override {
    go_to(end_of_plain());
    if (!stored_.target().keeps_journal()) return;
    if (has_news()) submit_pending();
    counts_.complete = counts_.queued;
    store_frames(false);
    if (!queue_.has_threads()) store_frames(true);
    record_complete();
  }

  size_t read_at(std::span<std::byte>, int64_t) override { cannot("be read while it is written"); }
  FileStatus status() override { return stored_.target().file().status(); }
  void resize(int64_t) override { cannot("be cut"); }
  void sync() override { stored_.target().sync(); }
  int64_t next(Space, int64_t offset) override { return offset; }
  const std::string& path() const override { return stored_.target().file().path(); }
  void close() override {}

 private:
  // Numbers of frames since load().
  struct FrameCounts {
    int64_t queued = 0;
    int64_t stored = 0;
    int64_t complete = 0;  // up to the end of the latest complete chunk
    int64_t recorded = 0;
  };

  [[noreturn]] void cannot(const char* what) const {
    throw file_error(Code::unsupported, path(), std::string("is compressed and cannot ") + what);
  }

  PlainPlace end_of_plain() const {
    const auto [block, offset] = plain_.position();
    return {static_cast<int32_t>(block), offset};
  }
  // Returns true if the last frame does not end where the pending bytes end.
  bool has_news() const { return !task_.pending.empty() || submitted_ != task_.pending_at; }
  PlainPlace next() const { return {task_.pending_at.block, task_.pending_at.offset + pending()}; }

  void go_to(const PlainPlace& place) {
    if (place == next()) return;
    if (place < next()) {
      task_.pending.resize(
          place >= task_.pending_at ? static_cast<size_t>(place.offset - task_.pending_at.offset) : 0);
      if (place < task_.pending_at) task_.pending_at = place;
      return;
    }
    if (has_news()) submit_pending();
    while (submitted_.block + 1 < place.block) {  // every block must have a frame, if only an empty one
      task_.pending_at = {submitted_.block + 1, 0};
      submit({});
    }
    task_.pending_at = place;
  }

  void submit_pending() {
    submit(task_.pending);
    task_.pending.clear();
  }

  // Captures or enqueues a frame of `plain`, which begins at task_.pending_at. A failure changes nothing that
  // the program has written.
  void submit(std::span<const std::byte> plain) {
    if (!keep_captured(plain)) enqueue(task_.pending_at, plain);
    task_.pending_at.offset += std::ssize(plain);
    submitted_ = task_.pending_at;
    task_.indexed = false;
  }

  void enqueue(const PlainPlace& at, std::span<const std::byte> plain) {
    store_frames(false);
    if (queue_.full()) store_front(true);
    queue_.push(at, plain);
    ++counts_.queued;
  }

  // Captures a frame. If memory is exhausted, first stores captured frames, which frees memory. Returns false
  // if that does not suffice. No captured frames are left then, so frames stay in order.
  bool keep_captured(std::span<const std::byte> plain) {
    if (!capture_) return false;
    if (!task_.captured) task_.captured = std::make_unique<CapturedFrames>();
    while (!task_.captured->add(*capture_, task_.pending_at, plain)) {
      if (task_.captured->empty()) return false;
      store_oldest();
    }
    return true;
  }

  // Stores the first captured frame. Returns its uncompressed bytes.
  int64_t store_oldest() {
    const auto [at, plain] = task_.captured->front();
    const int64_t bytes = std::ssize(plain);
    enqueue(at, plain);
    task_.captured->pop();
    capture_->batch->count_written(bytes);
    return bytes;
  }

  // Stores the queued frames: all of them with `wait`, otherwise only those that are ready.
  void store_frames(bool wait) {
    while (!queue_.empty() && store_front(wait)) {
    }
  }

  bool store_front(bool wait) {
    const auto frame = queue_.front(wait);
    if (!frame) return false;
    const auto head = format::decode_frame(frame->first<format::frame_head_size>());
    stored_.write_filling(*frame, {});
    // If the table cannot be extended, the frame is stored once more, and replaces this one for readers.
    const int64_t at = std::exchange(stored_bytes_, stored_bytes_ + std::ssize(*frame));
    task_.frames.add(*head, at);
    queue_.pop();
    ++counts_.stored;
    record_complete();
    return true;
  }

  void record_complete() {
    if (counts_.recorded == counts_.complete || counts_.stored < counts_.complete) return;
    stored_.flush();
    stored_.target().sync_before_report();
    stored_.target().report(stored_.chunks().progress());
    counts_.recorded = counts_.complete;
  }

  WriteStream& stored_;
  const WriteStream& plain_;
  const size_t frame_;
  codec::FrameQueue queue_;
  const std::optional<FrameCapture>& capture_;  // nullopt: frames are compressed at once
  layout::ChunkGeometry chunks_;
  CompressedTask task_;       // without its blocks
  PlainPlace submitted_;      // end of the last frame in the table, in the queue or captured
  int64_t stored_bytes_ = 0;  // bytes stored for the task
  FrameCounts counts_;
};

CompressedWriter::CompressedWriter(WriteStream& stored, const codec::Compression& how, std::string_view path)
    : how_(how) {
  codec::require(how.codec, path);
  SHEAF_ASSERT(how.threads >= 0);
  sink_ = std::make_shared<Sink>(stored, plain_, how, capture_);
  plain_.bind(sink_, std::min<int64_t>(plain_buffer, how.frame), WriteStream::Rewriting::forbidden);
  plain_.target().know_file({.watch = sink_.get()});
}

CompressedWriter::~CompressedWriter() = default;

bool CompressedWriter::store_captured(int64_t bytes) { return sink_->store_captured(bytes); }

int64_t CompressedWriter::stored_bound() const { return sink_->stored_bound(); }

void CompressedWriter::load(CompressedTask task, int64_t local_rank, const layout::ChunkGeometry& chunks) {
  parked_bytes_ -= std::ssize(task.pending);
  TaskBlocks blocks = std::move(task.blocks);
  sink_->load(chunks, std::move(task));
  plain_.load(chunks, std::move(blocks), local_rank);
}

CompressedWriter::CompressedTask CompressedWriter::park() {
  plain_.flush();
  if (parked_bytes_ + sink_->pending() > max_parked) flush();
  CompressedTask task = sink_->park();
  task.blocks = plain_.park();
  parked_bytes_ += std::ssize(task.pending);
  return task;
}

void CompressedWriter::flush() {
  plain_.flush();
  sink_->end_frame();
}

void CompressedWriter::finish() {
  plain_.target().require_nothing_lost();
  flush();
  sink_->store_captured(INT64_MAX);
  sink_->write_index();
}

CompressedWriter::CompressedTask appended_task(format::FrameTable frames, bool indexed) {
  TaskBlocks blocks;
  blocks.continue_behind(frames.block_sizes());
  const PlainPlace end = frames.end();
  return {.blocks = std::move(blocks),
          .frames = std::move(frames),
          .indexed = indexed,
          .pending_at = end,
          .pending = {}};
}

}  // namespace sheaf::multifile

// multifile/stream/chunk_writer: writes bytes at the position of a task in its chunks, without a buffer, and
// keeps this position equal to that of a handle through which the program writes as well.
//
// Local to a task. Not thread-safe. All sizes in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "layout/chunk_layout.hpp"
#include "multifile/journal/journaled_file.hpp"
#include "multifile/stream/task_blocks.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

class ChunkWriter {
 public:
  JournaledFile& target() { return target_; }
  const JournaledFile& target() const { return target_; }

  // Makes a task with `blocks` current, laid out by `geometry`, and moves the handle to its position.
  // local_rank: number of the task in the physical file.
  void load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank);
  // State of the current task. `position` and `high` do not include bytes in a buffer.
  TaskBlocks& blocks() { return blocks_; }
  const TaskBlocks& blocks() const { return blocks_; }

  const layout::ChunkGeometry& geometry() const { return geometry_; }
  int64_t chunk() const { return blocks_.count() - 1; }
  // Returns the offset of the position in the file.
  int64_t offset() const { return geometry_.offset(chunk()) + blocks_.position; }
  // Returns the bytes from the position to the end of the chunk.
  int64_t room() const { return geometry_.size - blocks_.position; }

  // Writes bytes that fit into the chunk, and advances the position. Uses the second stream of the program,
  // if there is one. The first `again` bytes are those before the position, unchanged: they are written again
  // without being counted again. If it is not 0, the program must not share the position.
  void write(std::span<const std::byte> bytes, int64_t again = 0);
  // Does the same with `head`, of which `again` bytes are before the position, and `body` in one transfer.
  // The program must not share the position.
  void write(std::span<const std::byte> head, std::span<const std::byte> body, int64_t again);
  // Reports the current chunk as finished to the journal and begins the next one. All bytes of the chunk must
  // be in the file, none in a buffer. If it throws, the position is unchanged.
  void begin_next();
  // Returns to an earlier position. `high` is the number of bytes that the chunk had then.
  void return_to(int64_t chunk, int64_t position, int64_t high);
  // Returns the report of the current chunk for the journal.
  ChunkReport progress(bool finished = false) const { return {local_rank_, chunk(), blocks_.high, finished}; }

  // Returns the handle through which the program shares the position; null if there is none.
  StdioHandle* handle() const { return shared_ ? shared_->handle.get() : nullptr; }
  // Takes a handle and moves it to the position.
  void attach(std::unique_ptr<StdioHandle> handle);
  // Synchronizes and releases the handle.
  std::unique_ptr<StdioHandle> release_handle();
  // Must be called when the program has closed its stream. The next write continues at the position of that
  // stream or, if it was a second stream, at that of the last call.
  void forget_handle();
  // Runs `back` once, at the next learn(). `back` itself must call leave() again before it throws; otherwise
  // it is not repeated.
  void leave(std::function<void()> back) { shared().back = std::move(back); }
  // Accounts for bytes that the program wrote itself. Moves bytes beyond the chunk to further chunks, and
  // throws if that fails.
  void learn();
  // Returns true once after bytes beyond the chunk were moved (multifile/stream/overruns).
  bool take_overrun() { return shared_ && std::exchange(shared_->overrun, false); }
  // Moves the handle to the position, where the program may write from now on.
  void move_handle() {
    if (!handle()) return;
    blocks_.share();
    handle()->move_to(offset());
  }

  // Makes every transfer check first whether the file was truncated, at the cost of one status call.
  void watch_length(bool on) { watches_length_ = on; }
  // Throws `foreign` if the file is shorter than the bytes written to it, unless the program writes as well.
  void require_length() const;
  [[noreturn]] void too_large(int64_t bytes) const;

 private:
  // Members that are needed only if the program shares the position.
  struct SharedHandle {
    std::unique_ptr<StdioHandle> handle;
    std::function<void()> back;
    bool overrun = false;
  };
  SharedHandle& shared() {
    if (!shared_) shared_ = std::make_unique<SharedHandle>();
    return *shared_;
  }
  void let_file_sum();
  void learn_position(int64_t in_file);
  void take_in(int64_t tail);

  [[no_unique_address]] JournaledFile target_;  // the next members use its padding
  uint32_t local_rank_ : 31 = 0;
  uint32_t watches_length_ : 1 = 0;
  std::unique_ptr<SharedHandle> shared_;
  layout::ChunkGeometry geometry_;
  TaskBlocks blocks_;
};

}  // namespace sheaf::multifile

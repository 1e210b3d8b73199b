// multifile/stream/write_stream: writes the byte stream of one task into its chunks.
//
// Small requests are collected in a buffer and written to the File in transfers that end on multiples of
// their size. Large requests bypass the buffer. The buffer is initially empty and grows with the amount
// written, so that a task that writes little holds little memory. Local to a task. Not thread-safe. All
// sizes in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/journal/journal_writer.hpp"
#include "multifile/stream/task_blocks.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

// Free (write) or unread (read) bytes that the caller may access without a call: the fast path of small
// records.
struct StreamWindow {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
};

class WriteStream {
 public:
  // Requests of at least this size are written directly from the caller's memory (docs/tuning.md).
  static constexpr int64_t direct_bytes = 64 << 10;

  // Sets the file to write to. `max_buffer` 0: no buffer.
  void bind(std::shared_ptr<File> file, int64_t max_buffer) {
    SHEAF_ASSERT(buffered() == 0 && max_buffer >= 0);
    file_ = std::move(file);
    max_buffer_ = static_cast<uint32_t>(std::min(max_buffer, max_buffer_bytes));
  }

  // Switches the journal beside the file on or off (multifile/journal/journal_writer). It records chunks that
  // are left, and commits. `store` outlives the stream. If `durable` is true, records also survive a power
  // loss.
  void keep_journal(Store& store, bool on, bool durable) {
    store_ = &store;
    journal_on_ = on;
    durable_ = durable;
  }
  // Sets the identity of the bound file for its journal.
  void know_file(const JournalKey& key) { journal_key_ = key; }
  const JournalKey& journal_key() const { return journal_key_; }
  // Sets the bytes per checksum of tasks loaded from now on.
  void keep_sums(uint32_t piece) { blocks_.piece = piece; }
  uint32_t piece() const { return blocks_.piece; }
  // Returns the store given to keep_journal(). The owner of the stream uses it instead of a reference of its
  // own, because every task should need little memory.
  Store& store() const { return *store_; }
  bool durable() const { return durable_; }
  bool keeps_journal() const { return journal_on_; }

  // Makes a task with `blocks` current, laid out by `geometry`. The stream must be flushed. local_rank:
  // number of the task in the physical file.
  void load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank);
  // Flushes and returns the state of the current task.
  TaskBlocks park();

  // Appends `data`. A request that fits a chunk is stored in one chunk: if the rest of the current chunk is
  // too small, a new one is begun. A larger request fills the rest and continues over as many chunks as
  // needed. Throws out_of_range for a task of chunk size 0. After an error the stream is unchanged, including
  // buffered bytes, and the program may retry or close.
  void write(std::span<const std::byte> data);

  // Appends `head` and `body` as one request that fills every chunk completely before it begins the next one,
  // as key-value records require. Throws like write(). After an error the stream is unchanged.
  void write_filling(std::span<const std::byte> head, std::span<const std::byte> body);

  // Begins a new chunk unless `bytes` fit into the rest of the current one. Throws out_of_range if they
  // exceed a whole chunk.
  void ensure_free_space(int64_t bytes);

  // A position that return_to() restores. It is valid while the bytes before it are unchanged. `high`
  // includes buffered bytes, because they were accepted.
  struct Mark {
    int64_t chunk;
    int64_t position;
    int64_t high;
  };
  Mark mark() {
    learn_from_handle();
    return {chunk(), position(), blocks().high};
  }
  // Discards all bytes written after the mark.
  void return_to(const Mark& mark);

  // Writes buffered bytes to the file and accounts for bytes that the program wrote itself.
  void flush();
  // Flushes, and records the progress of the task in the journal. Readers on any host then find the flushed
  // bytes even if the program is killed, and also if hosts have separate page caches
  // (JournalKey::own_caches). If the stream is durable, they find the bytes even after a crash of the host.
  // Collectively written bytes must be in the file (CollectiveWriter::flush).
  void commit();
  // Flushes and records the current contents of the current chunk in the journal. Does nothing without a
  // journal.
  void record_progress();
  // Records the progress of a task of the same file in the journal. If `finished` is true, the task's current
  // chunk receives no more bytes.
  void report(const TaskBlocks& blocks, int64_t local_rank, bool finished = false);
  // Returns when flushed bytes would survive a power loss. After one failure the data count as lost: they may
  // be missing on disk even if a later sync succeeds.
  void sync() {
    keep([&] { file_->sync(); });
  }
  // Runs `act`, which makes other data of the stream durable and throws if it fails. A failure counts as data
  // loss.
  template <class Act>
  void keep(Act&& act) {
    try {
      act();
    } catch (const Error& e) {
      lose(e);
      throw;
    }
  }
  // Throws if data count as lost by keep() or lose(). commit() throws as well, and so does every write of a
  // durable stream that begins a new chunk.
  void require_nothing_lost() const;
  // Records that bytes were lost that the program regards as written, so that the close fails.
  void lose(const Error& why) {
    if (!attached().lost) attached().lost = why;
  }
  File& file() const { return *file_; }
  // Returns the journal of the file; null if none is kept or nothing was recorded yet.
  JournalWriter* journal() const { return attached_ ? attached_->journal.get() : nullptr; }
  // Returns the journal, creating it if needed. Null if none is kept.
  JournalWriter* make_journal();
  // Release and attach the journal when the stream is switched to another physical file. The stream must be
  // parked.
  std::unique_ptr<JournalWriter> release_journal() {
    SHEAF_ASSERT(buffered() == 0);
    return attached_ ? std::move(attached_->journal) : nullptr;
  }
  void attach(std::unique_ptr<JournalWriter> journal) {
    SHEAF_ASSERT(buffered() == 0);
    if (journal || attached_) attached().journal = std::move(journal);
  }

  // Returns the handle through which the program shares the position, positioned at the next byte. Created at
  // the first call.
  StdioHandle& share(bool with_stream);
  StdioHandle* handle() const { return attached_ ? attached_->handle.get() : nullptr; }
  // Synchronizes and releases the handle. Returns null if the program shares no handle.
  std::unique_ptr<StdioHandle> release_handle();
  // Must be called when the program has closed its stream. The next write continues at the position of that
  // stream or, if it was a second stream, at that of the last call.
  void forget_handle();
  // Takes a handle and moves it to the stream's position. The stream must be flushed.
  void attach(std::unique_ptr<StdioHandle> handle);

  // Must be called when the program could not select its task and would write to the wrong one. Every call
  // except window() and handle() then first runs `back`, until that succeeds. The stream must be flushed.
  void leave(std::function<void()> back) {
    SHEAF_ASSERT(back && buffered() == 0);
    attached().back = std::move(back);
    close_window();
  }

  StreamWindow& window() { return window_; }
  const layout::ChunkGeometry& geometry() const { return geometry_; }
  int64_t chunk() const { return blocks_.count() - 1; }
  int64_t position() const { return blocks_.position + buffered(); }  // in the current chunk
  int64_t file_position() const { return geometry_.offset(chunk()) + position(); }
  // Makes every transfer check first whether the file was truncated, at the cost of one status call.
  void watch_length(bool on) { watches_length_ = on; }
  // Throws `foreign` if the file is shorter than the bytes written to it, unless the program writes as well.
  void require_length() const;
  int64_t bytes_written() const { return blocks_.total() + std::max<int64_t>(0, position() - blocks_.high); }
  int64_t buffer_capacity() const { return capacity_; }
  // Returns true once after the program wrote beyond its chunk through the handle and the bytes were moved to
  // further chunks (multifile/stream/overruns). Every call except window() and handle() checks for such
  // bytes, moves them, and throws if that fails.
  bool take_overrun() {
    const bool overrun = overrun_;
    overrun_ = 0;
    return overrun;
  }

  // Returns the state of the current task. The stream has no other state of its own.
  const TaskBlocks& blocks() {
    blocks_.high = std::max(blocks_.high, position());
    return blocks_;
  }

 private:
  // Members that few streams need.
  struct Attached {
    std::unique_ptr<StdioHandle> handle;
    std::unique_ptr<JournalWriter> journal;
    std::optional<Error> lost;
    std::function<void()> back;
  };
  Attached& attached() {
    if (!attached_) attached_ = std::make_unique<Attached>();
    return *attached_;
  }

  int64_t buffered() const { return window_.at - buffer_.get(); }
  // Returns the offset in the file of the first buffered byte.
  int64_t file_offset() const { return geometry_.offset(chunk()) + blocks_.position; }

  template <class Act>
  void write_or_return(int64_t bytes, Act&& act);
  void fill(std::span<const std::byte> data);
  void learn_from_handle();
  void learn_position(int64_t in_file);
  void take_in(int64_t tail);
  // Moves the handle to the stream's position, where the program may write from now on.
  void move_handle() {
    if (!handle()) return;
    blocks_.share();
    handle()->move_to(file_position());
  }
  void begin_next_chunk();
  void put(std::span<const std::byte> piece);
  std::span<const std::byte> put_directly(std::span<const std::byte> piece);
  void write_summed(std::span<const std::byte> head, std::span<const std::byte> body);
  void transfer(std::span<const std::byte> bytes);
  void flush_buffer();
  // Returns true if records are withheld until the data they describe are synced.
  bool records_wait() const { return journal_on_ && journal_key_.own_caches && !durable_; }
  // Removes the journal records of a failed write before other bytes replace those of the failed write.
  void take_back_records() {
    if (journal()) journal()->take_back_withdrawn();
  }
  void make_room(int64_t wanted);
  void close_window() { window_.at = window_.end = buffer_.get(); }
  [[noreturn]] void too_large(int64_t bytes) const;

  static constexpr int64_t max_buffer_bytes = 256 << 20;

  StreamWindow window_;
  std::unique_ptr<std::byte[]> buffer_;
  int64_t capacity_ = 0;  // of the buffer
  std::shared_ptr<File> file_;
  Store* store_ = nullptr;
  JournalKey journal_key_;
  std::unique_ptr<Attached> attached_;
  layout::ChunkGeometry geometry_;
  TaskBlocks blocks_;  // `position` is that of the first byte in the buffer
  uint32_t local_rank_ : 31 = 0;
  uint32_t max_buffer_ : 29 = 0;
  uint32_t overrun_ : 1 = 0;
  uint32_t journal_on_ : 1 = 0;
  uint32_t durable_ : 1 = 0;
  uint32_t watches_length_ : 1 = 0;
};

}  // namespace sheaf::multifile

// stream/write_stream: the stream of bytes one task writes into its chunks.
//
// Path of a byte: window of the buffer -> File, in transfers that end on multiples of their size; large
// requests skip the buffer. The buffer starts at nothing and grows with what is written, so that a task that
// writes little holds little. Local to a task; one thread at a time. All sizes in bytes.
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

#include "journal/journal_writer.hpp"
#include "layout/chunk_layout.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"
#include "stream/task_blocks.hpp"

namespace sheaf {

// Free (write) or waiting (read) bytes that a caller may use without a call: the fast path of small records.
struct Window {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
};

class WriteStream {
 public:
  // Requests of at least this many bytes are written from the caller's memory (docs/tuning.md).
  static constexpr int64_t direct_bytes = 64 << 10;

  // The file to write to. `max_buffer` 0: no buffer at all.
  void bind(std::shared_ptr<File> file, int64_t max_buffer) {
    file_ = std::move(file);
    max_buffer_ = static_cast<uint32_t>(std::min(max_buffer, most_buffer));
  }

  // From now on chunks that are left and commit() are recorded in a journal beside the file
  // (journal/journal_writer). `store` outlives the stream. durable: also of what survives a loss of power.
  void keep_journal(Store& store, bool on, bool durable) {
    store_ = &store;
    journal_on_ = on;
    durable_ = durable;
  }
  // The physical file that bind() has named, as its journal must know it.
  void know_file(const JournalKey& key) { journal_key_ = key; }
  const JournalKey& journal_key() const { return journal_key_; }
  // From now on tasks that are loaded have checksums of so many bytes each.
  void keep_sums(uint32_t piece) { blocks_.piece = piece; }
  uint32_t piece() const { return blocks_.piece; }
  // The store given to keep_journal(), for the owner of the stream, whose tasks each have little memory.
  Store& store() const { return *store_; }
  bool durable() const { return durable_; }
  bool keeps_journal() const { return journal_on_; }

  // Makes `blocks` of a task laid out by `geometry` the current ones. The stream must be flushed. local_rank:
  // number of the task in the physical file.
  void load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank);
  // Flushes and hands the state of the current task out.
  TaskBlocks park();

  // Appends. A request that fits a chunk is kept in one: a new chunk is begun if the rest of the current one
  // is too small. A larger request fills the rest and goes on over as many chunks as it needs. Throws
  // out_of_range for a task of chunk size 0. After an error the stream is as it was before the call, buffered
  // bytes included: a program may try again or close.
  void write(std::span<const std::byte> data);

  // Appends `head` and `body` as one request that fills every chunk to its last byte before the next one
  // begins: how key-value records are stored. Throws as write() does, with nothing changed.
  void write_filling(std::span<const std::byte> head, std::span<const std::byte> body);

  // Begins a new chunk unless `bytes` fit into the rest of the current one. Throws out_of_range if they fit
  // none.
  void ensure_free_space(int64_t bytes);

  // A place to come back to, as long as nothing in front of it changes. `high` counts what is still buffered:
  // it was accepted.
  struct Mark {
    int64_t chunk;
    int64_t position;
    int64_t high;
  };
  Mark mark() {
    learn_from_handle();
    return {chunk(), position(), blocks().high};
  }
  // Forgets what was written behind the mark.
  void return_to(const Mark& mark);

  // Brings buffered bytes into the file and learns what the program wrote itself.
  void flush();
  // flush(); then whoever opens the file finds these bytes, whatever becomes of the program; durable: of the
  // machine, also where hosts have page caches of their own (JournalKey::own_caches).
  // What is written collectively must be in the file (CollectiveWriter::flush).
  void commit();
  // flush(), and a record of what is now in the current chunk, as if the task left it. Nothing without a
  // journal.
  void record_progress();
  // Records in the journal how far a task of the same file has come. finished: nothing more goes into its
  // current chunk.
  void report(const TaskBlocks& blocks, int64_t local_rank, bool finished = false);
  // Returns when what has been flushed would survive a loss of power. If that fails once, the data count as
  // lost: what was to be kept then may not be on disk, whatever succeeds later.
  void sync() {
    keep([&] { file_->sync(); });
  }
  // The same for what belongs to the stream elsewhere: `act` throws if it could not be made durable.
  template <class Act>
  void keep(Act&& act) {
    try {
      act();
    } catch (const Error& e) {
      lose(e);
      throw;
    }
  }
  // Throws if data count as lost, by keep() or lose(). So do commit() and, of a durable stream, every write
  // that leaves a chunk.
  void require_nothing_lost() const;
  // Bytes that the program counts as written are lost: the close must fail.
  void lose(const Error& why) {
    if (!attached().lost) attached().lost = why;
  }
  File& file() const { return *file_; }
  // The journal of the file; null if there is none, or nothing was recorded yet.
  JournalWriter* journal() const { return attached_ ? attached_->journal.get() : nullptr; }
  // The same, made if need be. Null: no journal is kept.
  JournalWriter* make_journal();
  // When the stream changes to another physical file and back. The stream must be parked.
  std::unique_ptr<JournalWriter> release_journal() {
    return attached_ ? std::move(attached_->journal) : nullptr;
  }
  void attach(std::unique_ptr<JournalWriter> journal) {
    if (journal || attached_) attached().journal = std::move(journal);
  }

  // The handle through which the program shares the position, positioned at the next byte; made at the first
  // call.
  StdioHandle& share(bool with_stream);
  StdioHandle* handle() const { return attached_ ? attached_->handle.get() : nullptr; }
  // Takes the handle away, up to date. Null if there is none.
  std::unique_ptr<StdioHandle> release_handle();
  // The program has closed its stream: goes on where that stood (or, a second stream, where the last call
  // left it).
  void forget_handle();
  // Gives one back, which moves to the stream's position. The stream must be flushed.
  void attach(std::unique_ptr<StdioHandle> handle);

  // The program stands elsewhere, and would write to the wrong task: every call but window() and handle()
  // begins with `back` from now on, until that has not thrown. The stream must be flushed.
  void leave(std::function<void()> back) {
    attached().back = std::move(back);
    close_window();
  }

  Window& window() { return window_; }
  const layout::ChunkGeometry& geometry() const { return geometry_; }
  int64_t chunk() const { return blocks_.count() - 1; }
  int64_t position() const { return blocks_.position + buffered(); }  // in the current chunk
  int64_t file_position() const { return geometry_.offset(chunk()) + position(); }
  // From now on every transfer looks first whether the file has been cut, which costs a status.
  void watch_length(bool on) { watches_length_ = on; }
  // Throws `foreign` if the file is shorter than what was written there, unless the program writes as well.
  void require_length() const;
  int64_t bytes_written() const { return blocks_.total() + std::max<int64_t>(0, position() - blocks_.high); }
  int64_t buffer_capacity() const { return capacity_; }
  // True once after the program wrote beyond its chunk through the handle, and these bytes were moved to
  // further chunks (stream/overruns): every call but window() and handle() looks whether it did. What cannot
  // be moved is an error.
  bool take_overrun() {
    const bool overrun = overrun_;
    overrun_ = 0;
    return overrun;
  }

  // State of the current task, of which the stream keeps none of its own.
  const TaskBlocks& blocks() {
    blocks_.high = std::max(blocks_.high, position());
    return blocks_;
  }

 private:
  // What few streams have.
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
  int64_t file_offset() const {
    return geometry_.offset(chunk()) + blocks_.position;
  }  // of the buffer's first byte

  template <class Act>
  void write_or_return(int64_t bytes, Act&& act);
  void fill(std::span<const std::byte> data);
  void learn_from_handle();
  void learn_position(int64_t in_file);
  void take_in(int64_t tail);
  // The program is where the stream is, and may write there.
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
  // Whether records are kept until what they speak of has been synced.
  bool records_wait() const { return journal_on_ && journal_key_.own_caches && !durable_; }
  // Records of a write that has failed must be gone before other bytes take the place of its own.
  void take_back_records() {
    if (journal()) journal()->take_back_withdrawn();
  }
  void make_room(int64_t wanted);
  void close_window() { window_.at = window_.end = buffer_.get(); }
  [[noreturn]] void too_large(int64_t bytes) const;

  static constexpr int64_t most_buffer = 256 << 20;

  Window window_;
  std::unique_ptr<std::byte[]> buffer_;
  int64_t capacity_ = 0;  // of the buffer
  std::shared_ptr<File> file_;
  Store* store_ = nullptr;
  JournalKey journal_key_;
  std::unique_ptr<Attached> attached_;
  layout::ChunkGeometry geometry_;
  TaskBlocks blocks_;  // its position is that of the first byte in the buffer
  uint32_t local_rank_ : 31 = 0;
  uint32_t max_buffer_ : 29 = 0;
  uint32_t overrun_ : 1 = 0;
  uint32_t journal_on_ : 1 = 0;
  uint32_t durable_ : 1 = 0;
  uint32_t watches_length_ : 1 = 0;
};

}  // namespace sheaf

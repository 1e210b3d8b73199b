// multifile/journal/journal_writer: writes the records of one process to the journal of one physical file
// (docs/format.md, section 16).
//
// The first record of any task creates the journal. So a program that neither flushes nor completes a chunk
// pays nothing for the journal, and tasks need no synchronization. All tasks write the same header. No
// journal is possible if the directory is not writable or another file has its name. All calls are local, and
// only one thread at a time may call a writer.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/journal/journal_slots.hpp"

namespace sheaf::multifile {

// Treatment of a call whose record cannot be written.
enum class Journaling : uint8_t {
  best_effort,  // The call throws and can be repeated. A report of a finished chunk throws only if the file
                // system is full; otherwise its record waits for the next call. If no journal is possible,
                // all calls succeed and record nothing: the first one adds a warning and marks the physical
                // file (format::journal_gap_mark).
  required,     // The call throws and can be repeated.
  durable,      // as `required`; records become valid when sync() returns
};

class JournalWriter {
 public:
  // `store` must outlive the object. If hosts have separate page caches (JournalKey::own_caches), a writer
  // with Journaling::best_effort keeps reports until confirm(), and the caller syncs the file before it calls
  // confirm(). So the loss of a host never leaves a record without its bytes.
  JournalWriter(Store& store, const JournalKey& key, Journaling how) : store_(store), key_(key), how_(how) {}

  // Records that the first `bytes` bytes of chunk `block` of local task `task` are in `data`, the physical
  // file. The bytes must have been written before. `finished` states that no more bytes will be written to
  // the chunk. Throws as Journaling says; the previous record then stays valid. Throws `foreign`, now and in
  // all later calls, if a different program has completed the file or removed its journal. Does nothing if
  // the file has no identity and thus no journal.
  void report(File& data, const ChunkReport& report);

  // Records all blocks of the local tasks from `first` on before an append. Task first + t has counts[t]
  // blocks, with size_of(t, block) bytes each. Requires a journal that no other process has written to, and a
  // complete file that does not change until the append writes to it. Throws what the store throws.
  void report_all(File& data, int64_t first, std::span<const int64_t> counts,
                  const std::function<int64_t(size_t t, int64_t block)>& size_of);

  // Withdraws the records of the finished chunks first..last-1 of `task` after a failed write; of chunk
  // `first` at most `bytes` bytes remain valid. No record covers more bytes than before. Drops the reports
  // of chunks from `first` on that are kept. Never throws. If the withdrawal fails it is repeated before the
  // next record, or by take_back_withdrawn(), which must be called before the file changes.
  void withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes);
  void take_back_withdrawn();

  // Prepares for collective writing: reports are kept until confirm(), or until the collector records them.
  // If the file already contains all bytes of this task, `holder` returns the file, and reports are written
  // at once; otherwise it returns null. So tasks that only send their bytes do not access the journal unless
  // they flush. With Journaling::durable, or with separate page caches, reports are kept until confirm(),
  // because no task syncs the bytes of a different task.
  void defer(std::function<File*()> holder) {
    SHEAF_ASSERT(holder);
    holder_ = std::move(holder);
  }
  bool deferred() const { return holder_ != nullptr; }
  // Records the kept reports, whose bytes must all be in the file. Throws; the call can be repeated.
  void confirm(File& data);
  int64_t waiting() const { return std::ssize(held_); }
  // to_send() returns the number of finished chunks that the collector may record. send() returns at most
  // `most` of their reports; these are in flight until arrived() or return_in_flight() is called. Only final
  // values are sent, because the collector may write them later than this task writes its own records.
  int64_t to_send() const {
    if (how_ == Journaling::durable || kept_until_synced()) return 0;
    return std::ranges::count_if(held_, &ChunkReport::finished);
  }
  std::vector<ChunkReport> send(int64_t most);
  void arrived() { in_flight_.clear(); }
  void return_in_flight() {
    held_.insert(held_.begin(), in_flight_.begin(), in_flight_.end());
    in_flight_.clear();
  }
  // Called by the collector before it writes for other tasks. Throws `foreign` as report() does.
  void require_unfinished_file(File& data);
  // Called by the collector: records finished chunks of other tasks, whose bytes must be in `data`, the file
  // itself. Throws as report() does.
  void record(File& data, std::vector<ChunkReport> reports);

  // Returns when all records would survive a loss of power. After a failure, all later calls of sync() throw
  // the same error.
  void sync(File& data);
  // Closes the journal; no records may follow. Never throws.
  void close() { slots_.close(); }

 private:
  // Finished chunks [first, last) of a task whose records are to be withdrawn; `bytes` of chunk `first`
  // remain.
  struct Withdrawal {
    int64_t task, first, last, bytes;
  };
  bool open(File& data);
  bool kept_until_synced() const { return key_.own_caches && how_ == Journaling::best_effort; }
  template <class Record>
  void record_in_journal(File& data, Record&& record);
  void give_up(File& data, const Error& why);
  void require_journal(File& data);
  void require_unfinished(File& data);
  template <class Act>
  void with_file_itself(File& data, Act&& act);
  void mark(File& data, const std::array<std::byte, 4>& with);

  Store& store_;
  const JournalKey key_;
  JournalSlots slots_;
  std::optional<Withdrawal> withdrawn_;  // pending withdrawal
  std::function<File*()> holder_;        // none: reports are not kept
  std::vector<ChunkReport> held_;
  std::vector<ChunkReport> in_flight_;
  std::optional<Error> finished_;  // the error if the file now belongs to a different program
  const Journaling how_;
  bool marked_ = false;    // the file is marked as having a journal, or needs no mark
  bool given_up_ = false;  // nothing is recorded any more
};

}  // namespace sheaf::multifile

// multifile/journal/journaled_file: the physical file that a stream writes to, its journal, and the error of
// data that were lost.
//
// The journal is created by the first report. Readers find reported bytes even if the program is killed.
// Local. Not thread-safe. Sizes in bytes.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "multifile/journal/journal_writer.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

class JournaledFile {
 public:
  void bind(std::shared_ptr<File> file) { file_ = std::move(file); }
  File& file() const { return *file_; }

  // Switches the journal beside the file on or off (multifile/journal/journal_writer). It records chunks that
  // are left, and commits. `store` outlives the object. If `durable` is true, records also survive a power
  // loss.
  void keep_journal(Store& store, bool on, bool durable) {
    store_ = &store;
    keeps_journal_ = on;
    durable_ = durable;
  }
  // Returns the store given to keep_journal().
  Store& store() const { return *store_; }
  bool keeps_journal() const { return keeps_journal_; }
  bool durable() const { return durable_; }
  // Sets the identity of the bound file for its journal.
  void know_file(const JournalKey& key) { key_ = key; }
  const JournalKey& journal_key() const { return key_; }

  // Returns the journal of the file; null if none is kept or nothing was recorded yet.
  JournalWriter* journal() const { return rare_ ? rare_->journal.get() : nullptr; }
  // Returns the journal, creating it if needed. Null if none is kept.
  JournalWriter* make_journal();
  // Release and attach the journal when another physical file is bound.
  std::unique_ptr<JournalWriter> release_journal() { return rare_ ? std::move(rare_->journal) : nullptr; }
  void attach(std::unique_ptr<JournalWriter> journal) {
    if (journal || rare_) rare().journal = std::move(journal);
  }

  // Passes a report to the journal. Does nothing after a loss of data, because the contents of the disk are
  // then unknown.
  void report(const ChunkReport& report);
  // Must be called before a report() that is not part of a commit. If the file is
  // durable, makes its data durable; not in collective writing, where reports wait until the data are
  // durable.
  void sync_before_report();
  // Syncs the file and makes all reports valid if they wait for that and describe enough data.
  void confirm_many(int64_t chunk_size);
  // Passes the report of a task's current chunk to the journal and makes all reports valid. Readers on any
  // host then find the bytes even if hosts have separate page caches (JournalKey::own_caches). If the file is
  // durable, they find the bytes even after a crash of the host.
  void commit(const ChunkReport& last);
  // Removes the journal records of a failed write before other bytes replace those of the failed write.
  void take_back_records() {
    if (journal()) journal()->take_back_withdrawn();
  }

  // Returns when the bytes in the file would survive a power loss. After one failure the data count as lost:
  // they may be missing on disk even if a later sync succeeds.
  void sync() {
    keep([&] { file_->sync(); });
  }
  // Runs `act`, which makes other data durable (another file of the task) and throws if it fails. A failure
  // counts as data loss.
  template <class Act>
  void keep(Act&& act) {
    try {
      act();
    } catch (const Error& e) {
      lose(e);
      throw;
    }
  }
  // Throws if data count as lost by keep() or lose(). commit() throws as well, and so does every write to a
  // durable file that begins a new chunk.
  void require_nothing_lost() const;
  // Records that bytes were lost that the program regards as written, so that the close fails.
  void lose(const Error& why) {
    if (!rare().lost) rare().lost = why;
  }

 private:
  // Members that few streams need.
  struct Rare {
    std::unique_ptr<JournalWriter> journal;
    std::optional<Error> lost;
  };
  Rare& rare() {
    if (!rare_) rare_ = std::make_unique<Rare>();
    return *rare_;
  }
  // Returns true if records are withheld until the data they describe are synced.
  bool records_wait() const { return keeps_journal() && key_.own_caches && !durable_; }

  std::shared_ptr<File> file_;
  Store* store_ = nullptr;
  std::unique_ptr<Rare> rare_;
  [[no_unique_address]] JournalKey key_;  // the next members use its padding
  bool keeps_journal_ : 1 = false;
  bool durable_ : 1 = false;
};

}  // namespace sheaf::multifile

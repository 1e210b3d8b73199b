// multifile/journal_writer: the records of one process in the journal of one physical file (docs/format.md, section 16).
//
// The journal is made by the first record of any task, so programs that neither flush nor leave a chunk pay nothing, and
// nobody meets anybody. All tasks write the same header. Local; one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/journal.hpp"
#include "storage/store.hpp"

namespace sheaf {

class JournalWriter {
 public:
  // The first `bytes` bytes of chunk `block` of local task `task` are in the file. finished: nothing more goes there.
  struct Report {
    int64_t task, block, bytes;
    bool finished;
  };

  // `store` outlives the object. durable: records count once they are on disk, see sync().
  explicit JournalWriter(Store& store, bool durable = false) : store_(store), durable_(durable) {}

  // Says that the first `bytes` bytes of chunk `block` of local task `task` are in `data`, the physical file, which they
  // must be. finished: nothing more goes there. Throws; then the record before still counts, and the call can be
  // repeated. A file without identity has no journal: nothing happens.
  void report(File& data, int64_t task, int64_t block, int64_t bytes, bool finished);

  // The same for all blocks of tasks first, first + 1, ... (`counts` of them each, size_of(t, block) bytes) in a journal that
  // nobody else has written to yet.
  void report_all(File& data, int64_t first, std::span<const int64_t> counts,
                  const std::function<int64_t(size_t t, int64_t block)>& size_of);

  // A write has failed that had finished the chunks first..last-1 of `task`: of chunk `first` only `bytes` count. Never
  // throws: what cannot be taken back now is before the next record, or by settle(), to be called before the file changes.
  void withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes);
  void settle() {
    if (withdrawn_) take_back();
  }

  // Collective writing: what is reported is kept until confirm(), or until the collector records it, unless `holder` gives the
  // file that all bytes of this task are in already. So tasks that only send what they write touch no journal, unless they
  // flush. durable: kept until confirm(), as nobody syncs what another task has written.
  using Holder = std::function<File*()>;
  void defer(Holder holder) { holder_ = std::move(holder); }
  bool deferred() const { return holder_ != nullptr; }
  void confirm(File& data);  // all is in the file; throws, and can be repeated
  // Finished chunks that are kept, for the collector: those a collector may record, what they are, at most `most` of them, from
  // then on underway until either arrived() or come_back(). Only what is final travels: a collector may be late.
  int64_t to_send() const;
  std::vector<Report> send(int64_t most);
  void arrived() { underway_.clear(); }
  void come_back();
  // At the collector: finished chunks of others, whose bytes are in `data`, the file itself. Throws as report() does.
  void record(File& data, std::vector<Report> reports);

  // Returns when all records would survive a loss of power.
  void sync(File& data);
  void close();

 private:
  bool open(File& data);
  void write(const Report& report);
  void take_back();
  void mark(File& data);
  void mark_apart(File& data);

  Store& store_;
  std::shared_ptr<File> file_;
  format::JournalHeader header_;
  uint64_t seed_ = 0;
  int64_t pointer_offset_ = 0;  // in the physical file
  int64_t slot_ = -1;                         // of the latest record; -1: none, or its state is not known
  std::optional<format::JournalRecord> last_;  // the record in it
  std::optional<Report> withdrawn_;           // block: first; still to be taken back
  int64_t withdrawn_end_ = 0;
  Holder holder_;  // none: nothing is kept
  std::vector<Report> held_;
  std::vector<Report> underway_;
  const bool durable_;
  bool marked_ = false;  // the file says that it has a journal
  bool off_ = false;    // the file has no identity
  bool dirty_ = false;  // records since the last sync
};

// Removes the journal of a file that is complete, or given up. One that stays behind does no harm: nobody reads the journal
// of a complete file, and records belong to one file only. So nothing is thrown.
void remove_journal(Store& store, const std::string& physical_file);

}  // namespace sheaf

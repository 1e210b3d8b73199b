// journal/journal_writer: the records of one process in the journal of one physical file (docs/format.md,
// section 16).
//
// The journal is made by the first record of any task, so programs that neither flush nor leave a chunk pay
// nothing, and nobody meets anybody. All tasks write the same header. Where the directory may not be written
// to, or another file has the name of the journal, none is admitted. Local; one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "journal/journal_file.hpp"

namespace sheaf {

// What becomes of a call whose record cannot be made.
enum class Journaling : uint8_t {
  wished,  // it throws, and can be repeated; but the record of a chunk that is left waits for the next call,
           // unless the file system is full. Where no journal is admitted it goes on: the first one adds a
           // warning, the physical file is marked (format::journal_gap_mark), and nothing is recorded.
  required,  // it throws, and can be repeated
  durable,   // the same, and records count once they are on disk, see sync()
};

class JournalWriter {
 public:
  // The first `bytes` bytes of chunk `block` of local task `task` are in the file. finished: nothing more
  // goes there.
  struct Report {
    int64_t task, block, bytes;
    bool finished;
  };

  // `store` outlives the object. Where hosts have caches of their own (JournalKey), what is reported is kept
  // until confirm(), before which the caller syncs `data`: no host that is lost leaves a record of bytes that
  // are lost with it. With Journaling::required it is not kept.
  JournalWriter(Store& store, const JournalKey& key, Journaling how) : store_(store), key_(key), how_(how) {}

  // Says that the first `bytes` bytes of chunk `block` of local task `task` are in `data`, the physical file,
  // which they must be. finished: nothing more goes there. Throws what Journaling says; then the record
  // before still counts. Throws `foreign`, now and ever after, if somebody else has made the file complete,
  // or removed its journal. A file without identity has no journal: nothing happens.
  void report(File& data, int64_t task, int64_t block, int64_t bytes, bool finished);

  // The same for all blocks of tasks first, first + 1, ... (`counts` of them each, size_of(t, block) bytes)
  // in a journal that nobody else has written to yet, of a file that is complete and stays so until it is
  // written to. Throws.
  void report_all(File& data, int64_t first, std::span<const int64_t> counts,
                  const std::function<int64_t(size_t t, int64_t block)>& size_of);

  // A write has failed that had finished the chunks first..last-1 of `task`: of chunk `first` only `bytes`
  // count. Never throws: what cannot be taken back now is before the next record, or by
  // take_back_withdrawn(), to be called before the file changes.
  void withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes);
  void take_back_withdrawn() {
    if (withdrawn_) take_back();
  }

  // Collective writing: what is reported is kept until confirm(), or until the collector records it, unless
  // `holder` gives the file that all bytes of this task are in already. So tasks that only send what they
  // write touch no journal, unless they flush. durable, or hosts with caches of their own: kept until
  // confirm(), as nobody syncs what another task has written.
  void defer(std::function<File*()> holder) { holder_ = std::move(holder); }
  bool deferred() const { return holder_ != nullptr; }
  void confirm(File& data);  // all is in the file; throws, and can be repeated
  int64_t waiting() const { return std::ssize(held_); }
  // Finished chunks that are kept, for the collector: those a collector may record, what they are, at most
  // `most` of them, from then on underway until either arrived() or return_underway(). Only what is final
  // travels: a collector may be late.
  int64_t to_send() const {
    if (how_ == Journaling::durable || kept_until_synced()) return 0;
    return std::ranges::count_if(held_, &Report::finished);
  }
  std::vector<Report> send(int64_t most);
  void arrived() { underway_.clear(); }
  void return_underway() {
    held_.insert(held_.begin(), underway_.begin(), underway_.end());
    underway_.clear();
  }
  // At the collector, before it writes for others. Throws `foreign` as report() does.
  void require_unfinished_file(File& data);
  // At the collector: finished chunks of others, whose bytes are in `data`, the file itself. Throws as
  // report() does.
  void record(File& data, std::vector<Report> reports);

  // Returns when all records would survive a loss of power. Once that has failed it always fails.
  void sync(File& data);
  // Never throws: nothing is to come.
  void close() {
    if (const auto file = std::exchange(file_, nullptr)) attempt([&] { file->close(); });
    slot_ = -1;
  }

 private:
  bool open(File& data);
  bool kept_until_synced() const { return key_.own_caches && how_ == Journaling::wished; }
  bool may_go_on_without(const Error& failed) const;
  void hold(const Report& report);
  template <class Record>
  void keep(File& data, Record&& record);
  template <class Record>
  void record_in_journal(File& data, Record&& record);
  void give_up(File& data, const Error& why);
  void require_journal(File& data);
  void require_unfinished(File& data);
  void write(const Report& report);
  void write_side_by_side(std::vector<Report>& reports);
  void take_back();
  template <class Act>
  void with_file_itself(File& data, Act&& act);
  void mark(File& data, const std::array<std::byte, 4>& with);

  Store& store_;
  const JournalKey key_;
  std::shared_ptr<File> file_;
  uint64_t seed_ = 0;
  int64_t slot_ = -1;                          // of the latest record; -1: none, or its state is not known
  std::optional<format::JournalRecord> last_;  // the record in it
  std::optional<Report> withdrawn_;            // block: first; still to be taken back
  int64_t withdrawn_end_ = 0;
  std::function<File*()> holder_;  // none: nothing is kept
  std::vector<Report> held_;
  std::vector<Report> underway_;
  std::optional<Error> finished_;  // the file belongs to somebody else now
  std::optional<Error> unsynced_;  // what sync() has failed with
  const Journaling how_;
  bool marked_ = false;        // the file says that it has a journal, or needs not
  bool made_ = false;          // there has been a journal
  bool given_up_ = false;      // nothing is recorded
  bool dirty_ = false;         // records since the last sync
  bool counts_names_ = false;  // the store can tell that the journal was removed
};

}  // namespace sheaf

// multifile/journal/journal_slots: the open journal of one physical file, and the records in its slots
// (docs/format.md, section 16). Local. Only one thread at a time may use an object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "format/journal.hpp"
#include "storage/file.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

// States that the first `bytes` bytes of chunk `block` of local task `task` are in the file. `finished`
// states that no more bytes will be written to the chunk.
struct ChunkReport {
  int64_t task, block, bytes;
  bool finished;
};

class JournalSlots {
 public:
  // Opens or creates the journal of `physical_file`. Throws as open_journal().
  void open(Store& store, const std::string& physical_file, const format::JournalHeader& header);
  bool is_open() const { return file_ != nullptr; }
  // Returns true if open() has succeeded, even if the journal is closed now.
  bool was_opened() const { return ntasks_ > 0; }
  // Returns true if the journal is known to have been removed.
  bool is_removed() const { return counts_names_ && file_->status().links == 0; }

  // Writes a record, unless its slot has the same one. The former record stays valid until the new one is
  // complete.
  void write(const ChunkReport& report);
  // Replaces the record in a slot by that of an earlier state. Does nothing if the slot has none. The new
  // record covers no more bytes than the former one.
  void withdraw(ChunkReport report);
  // Writes adjacent slots together, including the halves that stay unchanged. No task may write to the slots
  // of these chunks any more.
  void write_side_by_side(std::vector<ChunkReport>& reports);
  // Writes the records of all blocks of the local tasks from `first` on. Task first + t has counts[t] blocks,
  // with size_of(t, block) bytes each. No task may have written to the journal.
  void write_all(int64_t first, std::span<const int64_t> counts,
                 const std::function<int64_t(size_t t, int64_t block)>& size_of);

  // Returns when all records would survive a loss of power. Returns false if there was no new record. After a
  // failure, all later calls throw the same error.
  bool sync();
  // Closes the journal. Never throws.
  void close();

 private:
  // Reads the slot of a chunk, unless it is the latest one.
  void find(const ChunkReport& report);
  void replace(const ChunkReport& report);

  std::shared_ptr<File> file_;
  uint64_t seed_ = 0;
  int64_t slot_ = -1;                          // slot of the latest record; -1: none, or its state is unknown
  std::optional<format::JournalRecord> last_;  // the record in that slot
  std::optional<Error> unsynced_;              // error of sync()
  int32_t ntasks_ = 0;
  bool dirty_ = false;         // records since the last sync
  bool counts_names_ = false;  // the store can show that the journal was removed
};

}  // namespace sheaf::multifile

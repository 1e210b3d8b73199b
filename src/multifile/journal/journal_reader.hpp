// multifile/journal/journal_reader: reads from the journal how much the tasks of an unclosed physical file
// have written (docs/format.md, section 16).
//
// The file may be written at the same time. The result for a task is a prefix of its stream that was in the
// file when the journal was read; later calls return no less. Takes a few MiB of memory for any number of
// tasks.
//
// The reader corrects a damaged record if one bit is wrong. Otherwise the record is lost, and the chunk may
// hold more bytes than the journal shows. Calls then throw `damaged` for the task, unless the reader was
// opened with LostRecords::accepted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "format/journal.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Damage found in the journals of a physical file.
struct JournalDamage {
  std::vector<std::string> headers;  // names of journals with an incomplete header
  int64_t corrected = 0;             // number of corrected records
  int64_t lost = 0;                  // number of lost records, at most one per task
  int64_t first_lost = -1;           // local rank of the first task with a lost record

  explicit operator bool() const { return !headers.empty() || corrected > 0 || lost > 0; }
};

// Treatment of a task with a lost record.
enum class LostRecords : uint8_t {
  refused,   // its blocks cannot be read
  accepted,  // the remaining records of the task are used
};

class JournalReader {
 public:
  // Opens the journal of the physical file `path`, which has `header` and `extension`. Returns null if there
  // is no journal. Throws `unsupported` for a journal of an unknown version, and what the store throws.
  static std::unique_ptr<JournalReader> open(Store& store, const std::string& path,
                                             const format::Header& header, const format::Extension& extension,
                                             LostRecords lost = LostRecords::refused);

  // Returns the largest block count of any task, >= 1. Reads all slots in use. Counts damaged slots in
  // damage() and throws no error for them.
  int64_t max_blocks();
  // Returns the damage that max_blocks() has found.
  const JournalDamage& damage() const { return damage_; }
  // Returns true if any slot read so far had a record of this file.
  bool found_records() const { return found_; }
  // Reads the block counts of local tasks [first, first + counts.size()), each 1..most. Throws `damaged` if a
  // record of these tasks is lost, unless lost records are accepted.
  void read_counts(int64_t first, int64_t most, std::span<int64_t> counts);
  // Reads how many bytes each of the local tasks [first, first + sizes.size()) has recorded in one round; 0
  // for a task without a record.
  void read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes);

 private:
  struct Journal {
    std::shared_ptr<File> file;
    bool examined;  // invalid slots are damage, and not records of a different multifile
  };
  JournalReader(int64_t ntasks, uint64_t seed, LostRecords lost)
      : ntasks_(ntasks), seed_(seed), lost_(lost) {}
  std::optional<format::JournalHeader> add(std::shared_ptr<File> file, const std::string& name,
                                           const format::Identity& identity);
  format::ExaminedSlot slot_of(const Journal& journal, std::span<const std::byte> bytes, int64_t slot) const;
  template <class Visit>
  void for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit);
  // Counts the blocks of local tasks [first, first + counts.size()), at most `most` each. Stops, for each
  // task, at the first round without a record of a finished chunk. Calls lost(task, round, state) for each
  // slot that is not sound.
  template <class Lost>
  void count_blocks(int64_t first, int64_t most, std::span<int64_t> counts, Lost&& lost);

  std::vector<Journal> journals_;  // one for each host with a journal
  int64_t ntasks_;
  uint64_t seed_;
  LostRecords lost_;
  JournalDamage damage_;
  bool found_ = false;
  std::vector<std::byte> buffer_;
  std::vector<format::ExaminedSlot> slots_;
};

}  // namespace sheaf::multifile

// journal/journal_reader: how far the tasks of a physical file that was never closed have come, from its
// journal (docs/format.md, section 16).
//
// The file may be written at the same time: what is found of a task is always a beginning of its stream that
// was in the file when it was asked for, and later calls find no less. Memory: a few MiB, however many tasks
// there are.
//
// A damaged record is corrected if one bit of it is wrong. Else the chunk may hold more than the journal can
// tell, and the task cannot be read: damaged is thrown, unless the reader was told to ignore damage.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "format/journal.hpp"
#include "storage/file.hpp"

namespace sheaf {

// What is damaged in the journals of a physical file.
struct JournalDamage {
  std::vector<std::string> headers;  // names of journals whose header is not whole
  int64_t corrected = 0;             // records
  int64_t lost = 0;                  // records, of as many tasks
  int64_t first_lost = -1;           // local rank of the first of these tasks

  explicit operator bool() const { return !headers.empty() || corrected > 0 || lost > 0; }
};

// What becomes of a task one of whose records is lost.
enum class LostRecords : uint8_t {
  refused,   // its blocks cannot be read
  accepted,  // what the journal still tells of it counts
};

class JournalReader {
 public:
  // The journal of the physical file `path` with `header` and `extension`; null if there is none. Throws
  // unsupported.
  static std::unique_ptr<JournalReader> open(Store& store, const std::string& path,
                                             const format::Header& header, const format::Extension& extension,
                                             LostRecords lost = LostRecords::refused);

  // Largest number of blocks of any task, >= 1. Reads all slots that are in use, and throws nothing for those
  // that are damaged.
  int64_t most_blocks();
  // What most_blocks() has found damaged.
  const JournalDamage& damage() const { return damage_; }
  // Whether there has been a record of this file in what was read so far.
  bool found_records() const { return found_; }
  // Number of blocks of local tasks [first, first + counts.size()), each 1..most. Throws damaged if a record
  // of one of them is lost.
  void read_counts(int64_t first, int64_t most, std::span<int64_t> counts);
  // Bytes in one round of local tasks [first, first + sizes.size()); 0 where nothing was recorded.
  void read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes);

 private:
  struct Journal {
    std::shared_ptr<File> file;
    bool examined;  // slots that are not whole are damage, and not what another multifile has left
  };
  JournalReader(int64_t ntasks, uint64_t seed, LostRecords lost)
      : ntasks_(ntasks), seed_(seed), lost_(lost) {}
  std::optional<format::JournalHeader> add(std::shared_ptr<File> file, const std::string& name,
                                           const format::Identity& identity);
  bool read_slots(File& file, int64_t slot, int64_t count, std::vector<std::byte>& into);
  format::Slot slot_of(const Journal& journal, std::span<const std::byte> bytes, int64_t slot) const;
  template <class Visit>
  void for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit);
  // Stops, task by task, at the first round without a whole finished record. lost(task, round): one is lost.
  template <class Lost>
  void count_blocks(int64_t first, int64_t most, std::span<int64_t> counts, Lost&& lost);

  std::vector<Journal> journals_;  // of each host that has one
  int64_t ntasks_;
  uint64_t seed_;
  LostRecords lost_;
  JournalDamage damage_;
  bool found_ = false;
  std::vector<std::byte> buffer_;
  std::vector<format::Slot> slots_;
};

}  // namespace sheaf

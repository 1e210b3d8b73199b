// journal/journal_reader: how far the tasks of a physical file that was never closed have come, from its
// journal (docs/format.md, section 16).
//
// The file may be written at the same time: what is found of a task is always a beginning of its stream that
// was in the file when it was asked for, and later calls find no less. Memory: a few MiB, however many tasks
// there are.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "format/journal.hpp"
#include "storage/file.hpp"

namespace sheaf {

class JournalReader {
 public:
  // The journal of the physical file `path` with `header` and `extension`; null if there is none. Throws
  // unsupported.
  static std::unique_ptr<JournalReader> open(Store& store, const std::string& path,
                                             const format::Header& header,
                                             const format::Extension& extension);

  // Largest number of blocks of any task, >= 1. Reads all slots that are in use.
  int64_t most_blocks();
  // Whether there has been a record of this file in what was read so far.
  bool found_records() const { return found_; }
  // Number of blocks of local tasks [first, first + counts.size()), each 1..most.
  void read_counts(int64_t first, int64_t most, std::span<int64_t> counts);
  // Bytes in one round of local tasks [first, first + sizes.size()); 0 where nothing was recorded.
  void read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes);

 private:
  JournalReader(std::vector<std::shared_ptr<File>> files, int64_t ntasks, uint64_t seed)
      : files_(std::move(files)), ntasks_(ntasks), seed_(seed) {}
  bool read_slots(File& file, int64_t slot, int64_t count, std::vector<std::byte>& into);
  template <class Visit>
  void for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit);

  std::vector<std::shared_ptr<File>> files_;  // of each host that has one
  int64_t ntasks_;
  uint64_t seed_;
  bool found_ = false;
  std::vector<std::byte> buffer_;
  std::vector<std::optional<format::JournalRecord>> records_;
};

}  // namespace sheaf

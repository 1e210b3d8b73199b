// multifile/keyval/keyval_index: reads the key-value records of a task by key.
//
// Record headers are scanned in write order, only as far as a call needs, and remembered (keyval_table.hpp).
// The scan keeps a small value that it skips: the value has been read ahead anyway, and fetching it later
// costs a separate request. A handle keeps at most `max_kept_bytes` (multifile/keyval/constants). Other
// memory is 20 bytes per scanned record and about 120 per distinct key.
//
// The index reads through the stream of the handle, so sion_feof() and similar calls see the position at
// which the last read by key ended. The program may change the position between two calls. All calls are
// local, and only one thread at a time may use an index. Sizes and offsets are in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/assert.hpp"
#include "base/non_copyable.hpp"
#include "multifile/keyval/keyval_scan.hpp"
#include "multifile/keyval/keyval_table.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

struct KeyStatistics {
  int64_t records = 0;
  int64_t bytes = 0;
};

// The records of one task, which must be the stream's current task during all calls. Calls that scan throw
// `damaged`, naming path, task and offset, at the first bad record; preceding records stay readable. After an
// error all positions are unchanged.
class KeyvalIndex {
 public:
  // `stream` and `kept_bytes` must outlive the index. `kept_bytes` counts the kept bytes of all tasks of a
  // handle.
  KeyvalIndex(ReadStream& stream, ByteOrder metadata_order, int64_t task, int64_t& kept_bytes);

  // Copies table and positions of `other`, to read the same task through a different stream.
  KeyvalIndex(const KeyvalIndex& other, ReadStream& stream, int64_t& kept_bytes);

  // Reads up to `items` items of `size` > 0 bytes from the key's current record, or from the key's next
  // record if the current one is finished. Returns the number of items read. It is 0 at the end of the key,
  // for an unknown key, and if the rest of the record is smaller than an item.
  size_t read(uint64_t key, std::byte* to, size_t size, size_t items);

  // Sets the read position to byte `offset` of the key's record number `record`. Returns false and changes
  // nothing if that byte does not exist.
  bool seek_record(uint64_t key, int64_t record, int64_t offset);
  // Sets the read position to byte `offset` of the key's current record. If that record was read to its end,
  // the next record of the key counts as the current one. Returns false and changes nothing if that byte does
  // not exist.
  bool seek_in_record(uint64_t key, int64_t offset);
  // Sets the read position to byte `offset` of the key's values, concatenated in record order. Returns false
  // and changes nothing if that byte does not exist.
  bool seek_joined(uint64_t key, int64_t offset);
  // Returns true if the key has unread bytes. Skips no bytes.
  bool settle(uint64_t key) { return find_bytes(key) != nullptr; }

  void scan_all();

  // restart_records() begins an iteration over all records in write order. next_record() scans further as
  // needed, returns the next record, and sets the read position of the record's key to the start of the
  // record. It returns nothing after the last record.
  void restart_records() { keys_.restart(); }
  std::optional<KeyvalRecord> next_record();

  // restart_keys() begins an iteration over the keys found so far, in order of first appearance. next_key()
  // returns nothing after the last key.
  void restart_keys() { next_key_ = 0; }
  std::optional<uint64_t> next_key();
  // Returns number and total size of the key's records scanned so far; nothing if the scan has not found the
  // key yet.
  std::optional<KeyStatistics> statistics(uint64_t key);

 private:
  KeyEntry* scan_next();
  template <class Has>
  KeyEntry* scan_until(uint64_t key, Has has);
  KeyEntry* find_record(uint64_t key, size_t record);
  KeyEntry* find_bytes(uint64_t key);
  void return_to_scan();
  void keep_rest_of_value();
  void fetch(const KeyEntry& entry, std::span<std::byte> out);
  StreamPosition place_of(int64_t position) const { return places_.find(stream_.sizes(), position); }
  void read_far(StreamPosition from, std::span<std::byte> out);

  ReadStream& stream_;
  int64_t& kept_bytes_;
  StreamPlaces places_;
  KeyvalScanner scanner_;
  StreamPosition scan_place_;     // stream position after the last scan
  KeyvalRecord found_;            // the record found last by the scanner
  KeyEntry* found_in_ = nullptr;  // entry of its key; null before the first record and at the end
  bool scanned_all_ = false;
  std::optional<Error> damage_;
  StreamPosition last_far_;  // end of the last value read out of order

  KeyTable keys_;
  size_t next_key_ = 0;
};

// The indices of all tasks of a handle, created on demand.
class KeyvalReader : private NonCopyable {
 public:
  explicit KeyvalReader(ReadStream& stream) : stream_(stream) {}
  // Copies the indices of `other`, for a duplicate of its handle.
  KeyvalReader(const KeyvalReader& other, ReadStream& stream) : stream_(stream) {
    for (const auto& [task, index] : other.tasks_) tasks_.try_emplace(task, index, stream_, kept_bytes_);
  }

  // Returns null if the task has no index yet.
  KeyvalIndex* find(int64_t task) {
    const auto at = tasks_.find(task);
    return at == tasks_.end() ? nullptr : &at->second;
  }
  // Creates the index of the stream's current task, which must have none.
  KeyvalIndex& add(int64_t task, ByteOrder metadata_order) {
    SHEAF_ASSERT(!find(task));
    return tasks_.try_emplace(task, stream_, metadata_order, task, kept_bytes_).first->second;
  }

 private:
  ReadStream& stream_;
  int64_t kept_bytes_ = 0;
  std::unordered_map<int64_t, KeyvalIndex> tasks_;
};

}  // namespace sheaf::multifile

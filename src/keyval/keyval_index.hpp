// keyval/keyval_index: reading the key-value records of a task by key.
//
// Headers are scanned in write order, and only as far as a question needs; what was seen is remembered
// (keyval_table.hpp). A small value that is passed over in scanning is kept, because it has been read ahead
// anyway and fetching it later costs a request of its own; a handle keeps at most `most_kept_bytes`
// (keyval/constants). Beyond the kept values, memory is 20 bytes per record and about 120 per distinct key
// that was scanned.
//
// The stream is the one of the handle: sion_feof and the like see where the reading of keys has led, and a
// program may move it between two calls. Local; one thread at a time. Sizes and offsets in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/non_copyable.hpp"
#include "keyval/keyval_scan.hpp"
#include "keyval/keyval_table.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

struct KeyStatistics {
  int64_t records = 0;
  int64_t bytes = 0;
};

// The records of one task. All calls need the task to be current in the stream. Those that scan throw
// damaged, naming path, task and offset, at the first bad record; what lies before it stays readable. After
// an error every position is where it was.
class KeyvalIndex {
 public:
  // `stream` and `kept_bytes` (shared by the tasks of a handle) outlive the index.
  KeyvalIndex(ReadStream& stream, ByteOrder metadata_order, int64_t task, int64_t& kept_bytes);

  // Knows what `other` knows and stands where it stands, and reads the same task through another stream.
  KeyvalIndex(const KeyvalIndex& other, ReadStream& stream, int64_t& kept_bytes);

  // Reads up to `items` items of `size` > 0 bytes, at most the rest of the record the key stands in; a
  // finished record is followed by the next one of the key. Returns the items read: 0 at the end of the key,
  // for an unknown one, and where the rest of the record is smaller than an item.
  size_t read(uint64_t key, std::byte* to, size_t size, size_t items);

  // Sets where the key is read next; false, and nothing changed, if there is no such byte.
  bool seek_record(uint64_t key, int64_t record, int64_t offset);
  bool seek_in_record(
      uint64_t key,
      int64_t offset);  // the record the key stands in; behind its end the next, if there is one
  bool seek_joined(uint64_t key, int64_t offset);                   // in all values of the key, joined
  bool settle(uint64_t key) { return find_bytes(key) != nullptr; }  // stays; true if there is a byte left

  void scan_all();

  // All records in write order; scans on as needed. The key of the record is read next at the record's begin.
  void restart_records();
  std::optional<KeyvalRecord> next_record();

  // The keys known so far, by first appearance.
  void restart_keys() { next_key_ = 0; }
  std::optional<uint64_t> next_key();
  // Of what was scanned so far; nothing for a key not seen yet.
  std::optional<KeyStatistics> statistics(uint64_t key);

 private:
  KeyEntry* scan_next();
  template <class Has>
  KeyEntry* scan_until(uint64_t key, Has has);
  KeyEntry* find_record(uint64_t key, size_t record);
  KeyEntry* find_bytes(uint64_t key);
  void return_to_scan();
  void keep_rest_of_value();
  bool make_room(std::vector<std::byte>& kept, size_t bytes);
  // Nothing is left to be kept: the last record has been found.
  bool knows_all() const { return scanned_all_ || found_.position + found_.length == places_.total(); }
  void fetch(const KeyEntry& entry, std::span<std::byte> out);
  bool is_at_scan(int64_t position) const {
    return found_in_ && position == found_.position + found_.length - scanner_.left();
  }
  ReadPosition place_of(int64_t position) const { return places_.find(stream_.sizes(), position); }
  void read_far(ReadPosition from, std::span<std::byte> out);

  ReadStream& stream_;
  int64_t& kept_bytes_;
  StreamPlaces places_;
  KeyvalScanner scanner_;
  ReadPosition scan_place_;       // where the scanner left the stream
  KeyvalRecord found_;            // by the scanner, most recently
  KeyEntry* found_in_ = nullptr;  // its key; null before the first and at the end
  bool scanned_all_ = false;
  std::optional<Error> damage_;
  ReadPosition last_far_;  // where the last value read out of order ended

  KeyTable keys_;
  std::vector<uint32_t> order_;  // number of the key of each record
  size_t next_record_ = 0;
  size_t next_key_ = 0;
};

// The indices of all tasks of a handle, made when they are asked for.
class KeyvalReader : private NonCopyable {
 public:
  explicit KeyvalReader(ReadStream& stream) : stream_(stream) {}
  // Of a duplicate of a handle.
  KeyvalReader(const KeyvalReader& other, ReadStream& stream) : stream_(stream) {
    for (const auto& [task, index] : other.tasks_) tasks_.try_emplace(task, index, stream_, kept_bytes_);
  }

  // Null: not made yet.
  KeyvalIndex* find(int64_t task) {
    const auto at = tasks_.find(task);
    return at == tasks_.end() ? nullptr : &at->second;
  }
  // For a task without one, which is the current one of the stream.
  KeyvalIndex& add(int64_t task, ByteOrder metadata_order) {
    return tasks_.try_emplace(task, stream_, metadata_order, task, kept_bytes_).first->second;
  }

 private:
  ReadStream& stream_;
  int64_t kept_bytes_ = 0;
  std::unordered_map<int64_t, KeyvalIndex> tasks_;
};

}  // namespace sheaf

// multifile/keyval/keyval_table: in-memory table of the keys of one task, with the positions of their records
// and the read position of each key. A pure data structure without access to files.
//
// Takes 20 bytes per record and about 120 per distinct key. The values of a key, concatenated in record
// order, are its *joined stream*. A position called joined is an offset in that stream, in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace sheaf::multifile {

struct KeyRecord {
  int64_t position = 0;  // position of the value in the task's stream
  int64_t before = 0;    // joined position of the value's start
};

// The data of a key that a duplicate handle copies: all except the kept values.
struct KeyPlaces {
  uint64_t key = 0;
  uint32_t number = 0;  // number of keys that appeared earlier
  std::vector<KeyRecord> records;
  int64_t total = 0;  // bytes of all values

  // Next read position: byte `offset` of record `record`. At the end of a record, the position stays there
  // until a later record is found.
  size_t record = 0;
  int64_t offset = 0;
  size_t visited = 0;  // number of records that the iterator over all records has visited
};

struct KeyEntry : KeyPlaces {
  // Values that were skipped and not read: bytes of the joined stream from kept_from on.
  std::vector<std::byte> kept;
  int64_t kept_from = 0;

  int64_t length(size_t r) const {
    return (r + 1 < records.size() ? records[r + 1].before : total) - records[r].before;
  }
  int64_t joined() const { return records[record].before + offset; }
  int64_t kept_end() const { return kept_from + static_cast<int64_t>(kept.size()); }

  // Moves from the end of a record to the next known record that has bytes. Returns false if no bytes are
  // left.
  bool settle() {
    while (record < records.size() && offset >= length(record)) {
      if (record + 1 == records.size()) return false;
      ++record;
      offset = 0;
    }
    return record < records.size();
  }
};

// The keys of a task, found by key and numbered by first appearance. Addresses of entries stay valid.
class KeyTable {
 public:
  KeyTable();
  KeyTable(const KeyTable& other);  // without the kept values
  KeyTable& operator=(const KeyTable&) = delete;

  // Returns null if the key is not in the table.
  KeyEntry* find(uint64_t key) {
    if (recent_ && recent_->key == key) return recent_;
    KeyEntry* const found = slots_[slot_of(key)];
    return found ? recent_ = found : nullptr;
  }
  // Appends a record to its key, which is added if it is new.
  KeyEntry& append(uint64_t key, int64_t position, int64_t length) {
    KeyEntry* const known = find(key);
    KeyEntry& entry = known ? *known : add(key);
    entry.records.push_back({position, entry.total});
    order_.push_back(entry.number);
    entry.total += length;
    return entry;
  }

  // restart() begins an iteration over the records in the order of append(). next() returns the key of the
  // next record, or null after the last one.
  void restart() {
    next_ = 0;
    for (KeyEntry& entry : entries_) entry.visited = 0;
  }
  KeyEntry* next() { return next_ == order_.size() ? nullptr : &entries_[order_[next_++]]; }

  size_t size() const { return entries_.size(); }
  KeyEntry& operator[](size_t number) { return entries_[number]; }

 private:
  // Returns the slot of the key, or the free slot where it belongs.
  size_t slot_of(uint64_t key) const {
    uint64_t h = key ^ seed_;  // mixed as in splitmix64 (Steele, Lea, Flood 2014)
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    const size_t mask = slots_.size() - 1;
    size_t slot = h & mask;
    while (slots_[slot] && slots_[slot]->key != key) slot = (slot + 1) & mask;
    return slot;
  }
  KeyEntry& add(uint64_t key);
  void fill_slots(size_t count);

  uint64_t seed_;
  std::deque<KeyEntry> entries_;
  KeyEntry* recent_ = nullptr;    // found last; a key that was looked up is often also the next one scanned
  std::vector<uint32_t> order_;   // number of the key, for each record
  size_t next_ = 0;               // index in order_ of the result of next()
  std::vector<KeyEntry*> slots_;  // open addressing; null: free; at most half of the slots are used
};

}  // namespace sheaf::multifile

#include "multifile/keyval_table.hpp"

#include <algorithm>

namespace sheaf {

bool KeyEntry::settle() {
  while (record < records.size()) {
    if (offset < length(record)) return true;
    if (record + 1 == records.size()) return false;
    ++record;
    offset = 0;
  }
  return false;
}

size_t KeyEntry::record_at(int64_t joined_offset) const {
  const auto next =
      std::upper_bound(records.begin(), records.end(), joined_offset,
                       [](int64_t offset_wanted, const KeyRecord& r) { return offset_wanted < r.before; });
  return static_cast<size_t>(next - records.begin()) - 1;
}

// The seed differs between runs (addresses do), so that nobody can prepare a file whose keys all meet in one
// slot.
KeyTable::KeyTable() : seed_(reinterpret_cast<uintptr_t>(this) * 0x9e3779b97f4a7c15u), slots_(16) {}

KeyTable::KeyTable(const KeyTable& other) : seed_(other.seed_), slots_(other.slots_) {
  for (const KeyEntry& e : other.entries_)
    entries_.push_back({e.key, e.number, e.records, e.total, e.record, e.offset, e.visited, {}, 0});
}

// The slot that holds the key, or the free one where it belongs.
size_t KeyTable::slot_of(uint64_t key) const {
  uint64_t h = key ^ seed_;  // mixed as in splitmix64 (Steele, Lea, Flood 2014)
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  h ^= h >> 31;
  const size_t mask = slots_.size() - 1;
  size_t slot = h & mask;
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].key != key) slot = (slot + 1) & mask;
  return slot;
}

KeyEntry* KeyTable::find(uint64_t key) {
  if (recent_ && recent_->key == key) return recent_;
  const uint32_t found = slots_[slot_of(key)];
  return found == 0 ? nullptr : recent_ = &entries_[found - 1];
}

KeyEntry& KeyTable::find_or_add(uint64_t key) {
  if (KeyEntry* known = find(key)) return *known;
  const size_t slot = slot_of(key);
  KeyEntry& added = entries_.emplace_back();
  added.key = key;
  added.number = static_cast<uint32_t>(entries_.size() - 1);
  slots_[slot] = added.number + 1;
  if (2 * entries_.size() > slots_.size()) grow();
  return added;
}

void KeyTable::grow() {
  slots_ = std::vector<uint32_t>(2 * slots_.size());
  for (const KeyEntry& entry : entries_) slots_[slot_of(entry.key)] = entry.number + 1;
}

}  // namespace sheaf

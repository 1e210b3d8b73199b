#include "multifile/keyval/keyval_table.hpp"

namespace sheaf::multifile {

// The seed depends on the address of the table, which differs between runs. A file therefore cannot be
// prepared so that all its keys collide in one slot.
KeyTable::KeyTable() : seed_(reinterpret_cast<uintptr_t>(this) * 0x9e3779b97f4a7c15u), slots_(16) {}

KeyTable::KeyTable(const KeyTable& other) : seed_(other.seed_), order_(other.order_), next_(other.next_) {
  for (const KeyPlaces& e : other.entries_) static_cast<KeyPlaces&>(entries_.emplace_back()) = e;
  fill_slots(other.slots_.size());
}

KeyEntry& KeyTable::add(uint64_t key) {
  KeyEntry& added = entries_.emplace_back();
  added.key = key;
  added.number = static_cast<uint32_t>(entries_.size() - 1);
  slots_[slot_of(key)] = &added;
  if (2 * entries_.size() > slots_.size()) fill_slots(2 * slots_.size());
  return *(recent_ = &added);
}

void KeyTable::fill_slots(size_t count) {
  slots_ = std::vector<KeyEntry*>(count);
  for (KeyEntry& entry : entries_) slots_[slot_of(entry.key)] = &entry;
}

}  // namespace sheaf::multifile

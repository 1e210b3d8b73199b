#include "multifile/keyval/keyval_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "multifile/keyval/constants.hpp"

namespace sheaf::multifile {

using namespace keyval_constants;

KeyvalIndex::KeyvalIndex(ReadStream& stream, ByteOrder metadata_order, int64_t task, int64_t& kept_bytes)
    : stream_(stream),
      kept_bytes_(kept_bytes),
      places_(stream.sizes()),
      scanner_(stream, metadata_order, stream.blocks().file().path(), task) {}

KeyvalIndex::KeyvalIndex(const KeyvalIndex& other, ReadStream& stream, int64_t& kept_bytes)
    : stream_(stream),
      kept_bytes_(kept_bytes),
      places_(other.places_),
      scanner_(other.scanner_, stream),
      scan_place_(other.scan_place_),
      found_(other.found_),
      scanned_all_(other.scanned_all_),
      damage_(other.damage_),
      keys_(other.keys_),
      next_key_(other.next_key_) {
  if (other.found_in_) found_in_ = &keys_[other.found_in_->number];
}

// --- scanning ---

// Moves the stream to the position at which the scanner left it. If the program shares the stream, always
// seeks, because querying the position costs as much.
inline void KeyvalIndex::return_to_scan() {
  if (stream_.handle() || stream_.position() != scan_place_)
    stream_.seek_block(scan_place_.block, scan_place_.offset);
}

// Adds the next record to the table. Returns null at the end.
KeyEntry* KeyvalIndex::scan_next() {
  if (scanned_all_) return nullptr;
  if (damage_) throw *damage_;
  return_to_scan();
  std::optional<KeyvalRecord> record;
  try {
    keep_rest_of_value();
    record = scanner_.next();
  } catch (const Error& e) {
    if (e.code() == Code::damaged) damage_ = e;
    scan_place_ = place_of(found_.position + found_.length - scanner_.left());
    throw;
  }
  scan_place_ = stream_.position();
  found_in_ = nullptr;
  if (!record) {
    scanned_all_ = true;
    return nullptr;
  }
  try {
    found_in_ = &keys_.append(record->key, record->position, record->length);
  } catch (const std::bad_alloc&) {  // a later scan would skip the record
    damage_ = Error(Code::io, "out of memory", ENOMEM);
    throw;
  }
  found_ = *record;
  return found_in_;
}

// Keeps the unread rest of the current value, if it is small, before the scanner moves to the next record.
inline void KeyvalIndex::keep_rest_of_value() {
  const int64_t left = scanner_.left();
  if (left == 0 || left > largest_kept_value || !found_in_) return;
  KeyEntry& entry = *found_in_;
  const int64_t from = entry.total - left;
  if (entry.kept.empty() || entry.joined() >= entry.kept_end()) {
    entry.kept.clear();
    entry.kept_from = from;
  }
  if (entry.kept_end() != from) return;
  const auto bytes = static_cast<size_t>(left);
  if (bytes > entry.kept.capacity() - entry.kept.size()) {
    const size_t capacity = std::max({entry.kept.size() + bytes, 2 * entry.kept.capacity(), size_t{64}});
    const auto more = static_cast<int64_t>(capacity - entry.kept.capacity());
    if (kept_bytes_ + more > max_kept_bytes) return;
    entry.kept.reserve(capacity);
    kept_bytes_ += more;
  }
  std::array<std::byte, largest_kept_value> value;
  scanner_.read(std::span(value).first(bytes));
  entry.kept.insert(entry.kept.end(), value.begin(), value.begin() + left);
}

void KeyvalIndex::scan_all() {
  while (scan_next()) {
  }
}

// Scans until has(entry) is true for the entry of `key`, and returns this entry. Returns null if all records
// were scanned before.
template <class Has>
inline KeyEntry* KeyvalIndex::scan_until(uint64_t key, Has has) {
  KeyEntry* entry = keys_.find(key);
  while (!entry || !has(*entry)) {
    KeyEntry* found = scan_next();
    if (!found) return nullptr;
    if (found->key == key) entry = found;
  }
  return entry;
}

// Returns the entry of the key if the key has that record, else null.
KeyEntry* KeyvalIndex::find_record(uint64_t key, size_t record) {
  return scan_until(key, [record](const KeyEntry& entry) { return entry.records.size() > record; });
}

// Returns the entry of the key, positioned before an unread byte; null if the key has no unread byte.
KeyEntry* KeyvalIndex::find_bytes(uint64_t key) {
  return scan_until(key, [](KeyEntry& entry) { return entry.settle(); });
}

// --- reading ---

size_t KeyvalIndex::read(uint64_t key, std::byte* to, size_t size, size_t items) {
  SHEAF_DEBUG_ASSERT(size > 0);
  KeyEntry* entry = find_bytes(key);
  if (!entry) return 0;
  const auto rest = static_cast<size_t>(entry->length(entry->record) - entry->offset);
  size_t bytes;
  size_t whole = items;
  if (__builtin_mul_overflow(size, items, &bytes) || bytes > rest) whole = rest / size;
  if (whole == 0) return 0;
  const std::span<std::byte> out(to, whole * size);
  fetch(*entry, out);
  entry->offset += static_cast<int64_t>(out.size());
  // After the last record, no further values have to be kept.
  if (!entry->kept.empty() && entry->joined() >= entry->kept_end() &&
      (scanned_all_ || found_.position + found_.length == places_.total())) {
    kept_bytes_ -= static_cast<int64_t>(entry->kept.capacity());
    entry->kept = std::vector<std::byte>();  // releases the memory
  }
  return whole;
}

inline void KeyvalIndex::fetch(const KeyEntry& entry, std::span<std::byte> out) {
  const int64_t joined = entry.joined();
  const int64_t position = entry.records[entry.record].position + entry.offset;
  if (joined >= entry.kept_from && joined + static_cast<int64_t>(out.size()) <= entry.kept_end()) {
    std::memcpy(out.data(), entry.kept.data() + (joined - entry.kept_from), out.size());
  } else if (found_in_ && position == found_.position + found_.length - scanner_.left()) {
    return_to_scan();
    scanner_.read(out);
    scan_place_ = stream_.position();
  } else {
    read_far(place_of(position), out);
  }
}

// Reads a value that the scan has already passed. A value far from the last one is fetched alone: read-ahead
// would transfer many times its bytes.
void KeyvalIndex::read_far(StreamPosition from, std::span<std::byte> out) {
  const int64_t gap = from.offset - last_far_.offset;
  if (stream_.handle() || (from.block == last_far_.block && gap >= 0 && gap <= near_bytes)) {
    stream_.seek_block(from.block, from.offset);
    stream_.read(out);
    last_far_ = stream_.position();
    return;
  }
  last_far_ = stream_.blocks().read(from, out);
}

// --- positions ---

bool KeyvalIndex::seek_record(uint64_t key, int64_t record, int64_t offset) {
  if (record < 0 || offset < 0) return false;
  KeyEntry* entry = find_record(key, static_cast<size_t>(record));
  if (!entry || offset >= entry->length(static_cast<size_t>(record))) return false;
  entry->record = static_cast<size_t>(record);
  entry->offset = offset;
  return true;
}

bool KeyvalIndex::seek_in_record(uint64_t key, int64_t offset) {
  KeyEntry* entry = find_record(key, 0);
  if (!entry) return false;
  const bool finished = entry->offset == entry->length(entry->record) && find_record(key, entry->record + 1);
  return seek_record(key, static_cast<int64_t>(entry->record) + finished, offset);
}

bool KeyvalIndex::seek_joined(uint64_t key, int64_t offset) {
  if (offset < 0) return false;
  KeyEntry* const entry = scan_until(key, [offset](const KeyEntry& e) { return e.total > offset; });
  if (!entry) return false;
  const auto next = std::ranges::upper_bound(entry->records, offset, {}, &KeyRecord::before);
  entry->record = static_cast<size_t>(next - entry->records.begin()) - 1;
  entry->offset = offset - entry->records[entry->record].before;
  return true;
}

// --- iterators ---

std::optional<KeyvalRecord> KeyvalIndex::next_record() {
  KeyEntry* entry = keys_.next();
  if (!entry && scan_next()) entry = keys_.next();
  if (!entry) return std::nullopt;
  const size_t r = entry->visited++;
  entry->record = r;
  entry->offset = 0;
  return KeyvalRecord{entry->key, entry->length(r), entry->records[r].position};
}

std::optional<uint64_t> KeyvalIndex::next_key() {
  if (next_key_ == keys_.size()) return std::nullopt;
  return keys_[next_key_++].key;
}

std::optional<KeyStatistics> KeyvalIndex::statistics(uint64_t key) {
  const KeyEntry* entry = keys_.find(key);
  if (!entry) return std::nullopt;
  return KeyStatistics{static_cast<int64_t>(entry->records.size()), entry->total};
}

}  // namespace sheaf::multifile

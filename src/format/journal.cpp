#include "format/journal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr char journal_magic[8] = {'S', 'h', 'e', 'a', 'f', 'J', 'n', 'l'};
constexpr uint32_t version_of_one_host = 1;
constexpr uint32_t version_of_hosts = 2;
constexpr uint32_t record_size = journal_record_size;
constexpr uint32_t finished_bit = 1;
constexpr uint32_t before_bit = 4;

struct JournalAt {
  enum : size_t {
    hash = 56,
    hosts = 64,
    hash_of_hosts = 72,
    end_of_hosts = 80,
    taken_over = 80,
    end_of_all = 84
  };
};
struct RecordAt {
  enum : size_t { sequence = 8, before = 16, hash = 24 };
};

using RecordBytes = std::span<const std::byte, journal_record_size>;

template <class H, class Number>
auto journal_fields(H& h, Number& version, Number& size) {
  return std::tie(version, size, h.identity, h.ntasks, h.nfiles, h.filenumber, h.fsblksize, h.data_start);
}
template <class H>
auto journal_hosts(H& h) {
  return std::tie(h.hosts, h.host);
}
template <class R, class Flags, class Hash>
auto record_fields(R& r, Flags& flags, Hash& before) {
  return std::tie(r.bytes, r.sequence, flags, before);
}

uint64_t hash_of_record(const std::byte* record, uint64_t seed, int64_t slot) {
  return XXH3_64bits_withSeed(record, RecordAt::hash, seed + static_cast<uint64_t>(slot));
}

uint64_t stored_hash(const std::byte* record) { return get_little<uint64_t>(record + RecordAt::hash); }

std::optional<JournalRecord> decode_record(const std::byte* p, uint64_t seed, int64_t slot) {
  // A half with sequence 0 was never written. Most halves are of this kind, so they are not hashed.
  if (get_little<uint32_t>(p + RecordAt::sequence) == 0) return std::nullopt;
  if (stored_hash(p) != hash_of_record(p, seed, slot)) return std::nullopt;
  JournalRecord record;
  uint32_t flags;
  uint64_t before;
  get_fields(p, record_fields(record, flags, before));
  if (record.bytes < -1) return std::nullopt;
  record.finished = flags & finished_bit;
  if (flags & before_bit) record.before = before;
  return record;
}

std::optional<JournalRecord> newer_of(const std::optional<JournalRecord>& first,
                                      const std::optional<JournalRecord>& second) {
  if (!first || !second) return first ? first : second;
  return static_cast<int32_t>(second->sequence - first->sequence) > 0 ? second : first;
}

// Returns the record that `bytes` become if one bit is inverted, or nullopt if no bit makes them a record.
std::optional<JournalRecord> correct(RecordBytes bytes, uint64_t seed, int64_t slot) {
  std::array<std::byte, journal_record_size> tried;
  std::ranges::copy(bytes, tried.begin());
  for (size_t bit = 0; bit < 8 * tried.size(); ++bit) {
    std::byte& changed = tried[bit / 8];
    const std::byte mask{static_cast<unsigned char>(1U << (bit % 8))};
    changed ^= mask;
    if (const auto record = decode_record(tried.data(), seed, slot)) return record;
    changed ^= mask;
  }
  return std::nullopt;
}

bool has_one_bit(RecordBytes bytes) {
  int bits = 0;
  for (const std::byte b : bytes) bits += std::popcount(std::to_integer<unsigned>(b));
  return bits == 1;
}

// Returns true if `bytes`, an invalid half of a slot, cannot have contained a record newer than `other`, the
// record in the other half. An incomplete write leaves the last bytes of the previous contents, in particular
// their hash. A previous record in which only the hash is wrong was older than `other`.
bool is_older_or_torn(RecordBytes bytes, const std::optional<JournalRecord>& other, uint64_t seed,
                      int64_t slot) {
  if (other && !other->before) return false;
  const uint64_t before = other ? *other->before : 0;
  return stored_hash(bytes.data()) == before ||
         (before != 0 && hash_of_record(bytes.data(), seed, slot) == before);
}

}  // namespace

uint64_t journal_seed(const JournalHeader& h) {
  std::array<std::byte, 24> key;
  put_fields(key.data(), std::tie(h.identity, h.ntasks, h.filenumber));
  return XXH3_64bits(key.data(), key.size());
}

std::array<std::byte, journal_header_size> encode(const JournalHeader& h) {
  const uint32_t version = h.hosts > 1 ? version_of_hosts : version_of_one_host;
  auto bytes = encode_sealed<journal_header_size>(journal_magic, journal_fields(h, version, record_size),
                                                  JournalAt::hash);
  std::byte* const p = bytes.data();
  put_little<uint32_t>(p + JournalAt::taken_over, h.taken_over);
  if (h.hosts == 1) return bytes;
  put_fields(p + JournalAt::hosts, journal_hosts(h));
  put_little<uint64_t>(p + JournalAt::hash_of_hosts, XXH3_64bits(p, JournalAt::hash_of_hosts));
  return bytes;
}

bool begins_as_journal(std::span<const std::byte> bytes) { return begins_with(bytes, journal_magic); }

std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path) {
  const std::byte* p = bytes.data();
  JournalHeader h;
  uint32_t version, size;
  if (!decode_sealed(bytes, journal_magic, journal_fields(h, version, size), JournalAt::hash))
    return std::nullopt;
  if (version < version_of_one_host || version > version_of_hosts || size != record_size)
    throw file_error(Code::unsupported, path,
                     "is a journal of version " + std::to_string(version) +
                         ", which is not known: " + "use the version of the library that has written it");
  h.taken_over =
      bytes.size() >= JournalAt::end_of_all && get_little<uint32_t>(p + JournalAt::taken_over) != 0;
  if (version == version_of_one_host) return h;
  if (bytes.size() < JournalAt::end_of_hosts ||
      get_little<uint64_t>(p + JournalAt::hash_of_hosts) != XXH3_64bits(p, JournalAt::hash_of_hosts))
    return std::nullopt;
  get_fields(p + JournalAt::hosts, journal_hosts(h));
  if (h.hosts < 2 || h.hosts > max_journal_hosts || h.host < no_journal_host || h.host >= h.hosts)
    return std::nullopt;
  return h;
}

std::array<std::byte, journal_record_size> encode(const JournalRecord& r, uint64_t seed, int64_t slot) {
  SHEAF_ASSERT(slot >= 0);
  std::array<std::byte, journal_record_size> bytes{};
  std::byte* p = bytes.data();
  const uint32_t flags = (r.finished ? finished_bit : 0) | (r.before ? before_bit : 0);
  const uint64_t before = r.before.value_or(0);
  put_fields(p, record_fields(r, flags, before));
  put_little<uint64_t>(p + RecordAt::hash, hash_of_record(p, seed, slot));
  return bytes;
}

JournalRecord next_record(const std::optional<JournalRecord>& last, int64_t bytes, bool finished,
                          uint64_t seed, int64_t slot) {
  const uint32_t next = last ? last->sequence + 1 : 1;
  // 0 is not a valid sequence. 2 selects the same half of the slot, so it replaces 0 after an overflow.
  return {.bytes = bytes,
          .sequence = next == 0 ? 2 : next,
          .finished = finished,
          .before = last ? stored_hash(encode(*last, seed, slot).data()) : 0};
}

std::optional<JournalRecord> decode_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed,
                                         int64_t slot) {
  return newer_of(decode_record(bytes.data(), seed, slot),
                  decode_record(bytes.data() + journal_record_size, seed, slot));
}

ExaminedSlot examine_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed, int64_t slot) {
  struct Half {
    RecordBytes bytes;
    std::optional<JournalRecord> record = {};
    bool empty = false;
    bool unknown() const { return !record && !empty; }
  };
  std::array halves{Half{bytes.first<journal_record_size>()}, Half{bytes.last<journal_record_size>()}};
  ExaminedSlot found;
  for (Half& half : halves) {
    half.record = decode_record(half.bytes.data(), seed, slot);
    half.empty = is_zero(half.bytes);
    if (!half.unknown()) continue;
    half.record = correct(half.bytes, seed, slot);
    half.empty = has_one_bit(half.bytes);
    if (!half.unknown()) found.state = JournalSlotState::corrected;
  }
  for (size_t i = 0; i < halves.size(); ++i) {
    const Half &half = halves[i], &other = halves[1 - i];
    if (!half.unknown()) continue;
    if (other.unknown() || !is_older_or_torn(half.bytes, other.record, seed, slot))
      found.state = JournalSlotState::damaged;
  }
  found.record = newer_of(halves[0].record, halves[1].record);
  return found;
}

}  // namespace sheaf::format

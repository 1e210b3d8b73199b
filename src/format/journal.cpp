#include "format/journal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr char journal_magic[8] = {'S', 'h', 'e', 'a', 'f', 'J', 'n', 'l'};
constexpr uint32_t version_of_one_host = 1;
constexpr uint32_t version_of_hosts = 2;
constexpr uint32_t record_size = journal_record_size;
constexpr uint32_t finished_bit = 1;
constexpr uint32_t checksum_bit = 2;

struct JournalAt {
  enum : size_t { fields = 8, hash = 56, end = 64, hosts = 64, hash_of_hosts = 72, end_of_hosts = 80 };
};
struct RecordAt {
  enum : size_t { sequence = 8, hash = 24 };
};

template <class H, class Number>
auto journal_fields(H& h, Number& version, Number& size) {
  return std::tie(version, size, h.identity, h.ntasks, h.nfiles, h.filenumber, h.fsblksize, h.data_start);
}
template <class H>
auto journal_hosts(H& h) {
  return std::tie(h.hosts, h.host);
}
template <class R, class Number>
auto record_fields(R& r, Number& flags, Number& checksum) {
  return std::tie(r.bytes, r.sequence, flags, checksum);
}

uint64_t hash_of_record(const std::byte* record, uint64_t seed, int64_t slot) {
  return XXH3_64bits_withSeed(record, RecordAt::hash, seed + static_cast<uint64_t>(slot));
}

std::optional<JournalRecord> decode_record(const std::byte* p, uint64_t seed, int64_t slot) {
  // Nobody has written the half of a slot without one; most are such, so they are not hashed.
  if (get_little<uint32_t>(p + RecordAt::sequence) == 0) return std::nullopt;
  if (get_little<uint64_t>(p + RecordAt::hash) != hash_of_record(p, seed, slot)) return std::nullopt;
  JournalRecord record;
  uint32_t flags, checksum;
  get_fields(p, record_fields(record, flags, checksum));
  if (record.bytes < -1) return std::nullopt;
  record.finished = flags & finished_bit;
  if (flags & checksum_bit) record.checksum = checksum;
  return record;
}

}  // namespace

uint64_t journal_seed(const JournalHeader& h) {
  std::array<std::byte, 24> key;
  put_fields(key.data(), std::tie(h.identity, h.ntasks, h.filenumber));
  return XXH3_64bits(key.data(), key.size());
}

std::array<std::byte, journal_header_size> encode(const JournalHeader& h) {
  std::array<std::byte, journal_header_size> bytes{};
  std::byte* p = bytes.data();
  std::memcpy(p, journal_magic, sizeof journal_magic);
  const uint32_t version = h.hosts > 1 ? version_of_hosts : version_of_one_host;
  put_fields(p + JournalAt::fields, journal_fields(h, version, record_size));
  put_little<uint64_t>(p + JournalAt::hash, XXH3_64bits(p, JournalAt::hash));
  if (h.hosts == 1) return bytes;
  put_fields(p + JournalAt::hosts, journal_hosts(h));
  put_little<uint64_t>(p + JournalAt::hash_of_hosts, XXH3_64bits(p, JournalAt::hash_of_hosts));
  return bytes;
}

bool begins_as_journal(std::span<const std::byte> bytes) { return begins_with(bytes, journal_magic); }

std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path) {
  const std::byte* p = bytes.data();
  if (bytes.size() < JournalAt::end || !begins_as_journal(bytes) ||
      get_little<uint64_t>(p + JournalAt::hash) != XXH3_64bits(p, JournalAt::hash))
    return std::nullopt;
  JournalHeader h;
  uint32_t version, size;
  get_fields(p + JournalAt::fields, journal_fields(h, version, size));
  if (version < version_of_one_host || version > version_of_hosts || size != record_size)
    throw file_error(Code::unsupported, path,
                     "is a journal of version " + std::to_string(version) +
                         ", which is not known: " + "use the version of the library that has written it");
  if (version == version_of_one_host) return h;
  if (bytes.size() < JournalAt::end_of_hosts ||
      get_little<uint64_t>(p + JournalAt::hash_of_hosts) != XXH3_64bits(p, JournalAt::hash_of_hosts))
    return std::nullopt;
  get_fields(p + JournalAt::hosts, journal_hosts(h));
  if (h.hosts < 2 || h.hosts > most_journal_hosts || h.host < no_journal_host || h.host >= h.hosts)
    return std::nullopt;
  return h;
}

std::array<std::byte, journal_record_size> encode(const JournalRecord& r, uint64_t seed, int64_t slot) {
  std::array<std::byte, journal_record_size> bytes{};
  std::byte* p = bytes.data();
  const uint32_t flags = (r.finished ? finished_bit : 0) | (r.checksum ? checksum_bit : 0);
  const uint32_t checksum = r.checksum.value_or(0);
  put_fields(p, record_fields(r, flags, checksum));
  put_little<uint64_t>(p + RecordAt::hash, hash_of_record(p, seed, slot));
  return bytes;
}

std::optional<JournalRecord> decode_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed,
                                         int64_t slot) {
  const auto first = decode_record(bytes.data(), seed, slot);
  const auto second = decode_record(bytes.data() + journal_record_size, seed, slot);
  if (!first || !second) return first ? first : second;
  return static_cast<int32_t>(second->sequence - first->sequence) > 0 ? second : first;
}

}  // namespace sheaf::format

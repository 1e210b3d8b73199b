#include "format/journal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr char journal_magic[8] = {'S', 'h', 'e', 'a', 'f', 'J', 'n', 'l'};
constexpr uint32_t version_of_one_host = 1;
constexpr uint32_t version_of_hosts = 2;
constexpr uint32_t finished_bit = 1;
constexpr uint32_t checksum_bit = 2;

struct JournalAt {
  enum : size_t {
    magic = 0,
    version = 8,
    record_size = 12,
    identity = 16,
    ntasks = 32,
    nfiles = 36,
    filenumber = 40,
    fsblksize = 44,
    data_start = 48,
    hash = 56,
    end = 64,
    hosts = 64,
    host = 68,
    hash_of_hosts = 72,
    end_of_hosts = 80
  };
};
struct RecordAt {
  enum : size_t { bytes = 0, sequence = 8, flags = 12, checksum = 16, hash = 24 };
};

uint64_t hash_of_record(const std::byte* record, uint64_t seed, int64_t slot) {
  return XXH3_64bits_withSeed(record, RecordAt::hash, seed + static_cast<uint64_t>(slot));
}

std::optional<JournalRecord> decode_record(const std::byte* p, uint64_t seed, int64_t slot) {
  if (get_little<uint64_t>(p + RecordAt::hash) != hash_of_record(p, seed, slot)) return std::nullopt;
  const auto flags = get_little<uint32_t>(p + RecordAt::flags);
  JournalRecord record;
  record.bytes = get_little<int64_t>(p + RecordAt::bytes);
  record.sequence = get_little<uint32_t>(p + RecordAt::sequence);
  record.finished = flags & finished_bit;
  if (flags & checksum_bit) record.checksum = get_little<uint32_t>(p + RecordAt::checksum);
  if (record.bytes < -1 || record.sequence == 0) return std::nullopt;
  return record;
}

}  // namespace

uint64_t journal_seed(const JournalHeader& h) {
  std::array<std::byte, 24> key;
  std::memcpy(key.data(), h.identity.data(), h.identity.size());
  put_little<int32_t>(key.data() + 16, h.ntasks);
  put_little<int32_t>(key.data() + 20, h.filenumber);
  return XXH3_64bits(key.data(), key.size());
}

std::array<std::byte, journal_header_size> encode(const JournalHeader& h) {
  std::array<std::byte, journal_header_size> bytes{};
  std::byte* p = bytes.data();
  std::memcpy(p + JournalAt::magic, journal_magic, sizeof journal_magic);
  put_little<uint32_t>(p + JournalAt::version, h.hosts > 1 ? version_of_hosts : version_of_one_host);
  put_little<uint32_t>(p + JournalAt::record_size, journal_record_size);
  std::memcpy(p + JournalAt::identity, h.identity.data(), h.identity.size());
  put_little<int32_t>(p + JournalAt::ntasks, h.ntasks);
  put_little<int32_t>(p + JournalAt::nfiles, h.nfiles);
  put_little<int32_t>(p + JournalAt::filenumber, h.filenumber);
  put_little<int32_t>(p + JournalAt::fsblksize, h.fsblksize);
  put_little<int64_t>(p + JournalAt::data_start, h.data_start);
  put_little<uint64_t>(p + JournalAt::hash, XXH3_64bits(p, JournalAt::hash));
  if (h.hosts == 1) return bytes;
  put_little<int32_t>(p + JournalAt::hosts, h.hosts);
  put_little<int32_t>(p + JournalAt::host, h.host);
  put_little<uint64_t>(p + JournalAt::hash_of_hosts, XXH3_64bits(p, JournalAt::hash_of_hosts));
  return bytes;
}

bool begins_as_journal(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof journal_magic &&
         std::memcmp(bytes.data(), journal_magic, sizeof journal_magic) == 0;
}

std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path) {
  const std::byte* p = bytes.data();
  if (bytes.size() < JournalAt::end || !begins_as_journal(bytes) ||
      get_little<uint64_t>(p + JournalAt::hash) != XXH3_64bits(p, JournalAt::hash))
    return std::nullopt;
  const auto found = get_little<uint32_t>(p + JournalAt::version);
  if (found < version_of_one_host || found > version_of_hosts ||
      get_little<uint32_t>(p + JournalAt::record_size) != journal_record_size)
    throw file_error(Code::unsupported, path,
                     "is a journal of version " + std::to_string(found) +
                         ", which is not known: " + "use the version of the library that has written it");
  JournalHeader h;
  std::memcpy(h.identity.data(), p + JournalAt::identity, h.identity.size());
  h.ntasks = get_little<int32_t>(p + JournalAt::ntasks);
  h.nfiles = get_little<int32_t>(p + JournalAt::nfiles);
  h.filenumber = get_little<int32_t>(p + JournalAt::filenumber);
  h.fsblksize = get_little<int32_t>(p + JournalAt::fsblksize);
  h.data_start = get_little<int64_t>(p + JournalAt::data_start);
  if (found == version_of_one_host) return h;
  if (bytes.size() < JournalAt::end_of_hosts ||
      get_little<uint64_t>(p + JournalAt::hash_of_hosts) != XXH3_64bits(p, JournalAt::hash_of_hosts))
    return std::nullopt;
  h.hosts = get_little<int32_t>(p + JournalAt::hosts);
  h.host = get_little<int32_t>(p + JournalAt::host);
  if (h.hosts < 2 || h.hosts > most_journal_hosts || h.host < no_journal_host || h.host >= h.hosts)
    return std::nullopt;
  return h;
}

std::array<std::byte, journal_record_size> encode(const JournalRecord& r, uint64_t seed, int64_t slot) {
  std::array<std::byte, journal_record_size> bytes{};
  std::byte* p = bytes.data();
  put_little<int64_t>(p + RecordAt::bytes, r.bytes);
  put_little<uint32_t>(p + RecordAt::sequence, r.sequence);
  put_little<uint32_t>(p + RecordAt::flags,
                       (r.finished ? finished_bit : 0) | (r.checksum ? checksum_bit : 0));
  put_little<uint32_t>(p + RecordAt::checksum, r.checksum.value_or(0));
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

#include "format/journal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sheaf::format {

namespace {

constexpr char magic[8] = {'S', 'h', 'e', 'a', 'f', 'J', 'n', 'l'};
constexpr uint32_t version = 1;
constexpr uint32_t finished_bit = 1;
constexpr uint32_t checksum_bit = 2;
constexpr auto order = ByteOrder::little;

enum HeaderField : size_t { at_magic = 0, at_version = 8, at_record_size = 12, at_identity = 16, at_ntasks = 32, at_nfiles = 36,
                            at_filenumber = 40, at_fsblksize = 44, at_data_start = 48, at_header_hash = 56,
                            header_used = 64 };
enum RecordField : size_t { at_bytes = 0, at_sequence = 8, at_flags = 12, at_checksum = 16, at_hash = 24 };

uint64_t hash_of_record(const std::byte* record, uint64_t seed, int64_t slot) {
  return XXH3_64bits_withSeed(record, at_hash, seed + static_cast<uint64_t>(slot));
}

std::optional<JournalRecord> decode_record(const std::byte* p, uint64_t seed, int64_t slot) {
  if (load<uint64_t>(p + at_hash, order) != hash_of_record(p, seed, slot)) return std::nullopt;
  const auto flags = load<uint32_t>(p + at_flags, order);
  JournalRecord record;
  record.bytes = load<int64_t>(p + at_bytes, order);
  record.sequence = load<uint32_t>(p + at_sequence, order);
  record.finished = flags & finished_bit;
  if (flags & checksum_bit) record.checksum = load<uint32_t>(p + at_checksum, order);
  if (record.bytes < -1 || record.sequence == 0) return std::nullopt;
  return record;
}

}  // namespace

uint64_t journal_seed(const JournalHeader& h) {
  std::array<std::byte, 24> key;
  std::memcpy(key.data(), h.identity.data(), h.identity.size());
  store<int32_t>(key.data() + 16, h.ntasks, order);
  store<int32_t>(key.data() + 20, h.filenumber, order);
  return XXH3_64bits(key.data(), key.size());
}

std::array<std::byte, journal_header_size> encode(const JournalHeader& h) {
  std::array<std::byte, journal_header_size> bytes{};
  std::byte* p = bytes.data();
  std::memcpy(p + at_magic, magic, sizeof magic);
  store<uint32_t>(p + at_version, version, order);
  store<uint32_t>(p + at_record_size, journal_record_size, order);
  std::memcpy(p + at_identity, h.identity.data(), h.identity.size());
  store<int32_t>(p + at_ntasks, h.ntasks, order);
  store<int32_t>(p + at_nfiles, h.nfiles, order);
  store<int32_t>(p + at_filenumber, h.filenumber, order);
  store<int32_t>(p + at_fsblksize, h.fsblksize, order);
  store<int64_t>(p + at_data_start, h.data_start, order);
  store<uint64_t>(p + at_header_hash, XXH3_64bits(p, at_header_hash), order);
  return bytes;
}

bool begins_as_journal(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), magic, sizeof magic) == 0;
}

std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path) {
  const std::byte* p = bytes.data();
  if (bytes.size() < header_used || !begins_as_journal(bytes) ||
      load<uint64_t>(p + at_header_hash, order) != XXH3_64bits(p, at_header_hash))
    return std::nullopt;
  const auto found = load<uint32_t>(p + at_version, order);
  if (found != version || load<uint32_t>(p + at_record_size, order) != journal_record_size)
    throw file_error(Code::unsupported, path, "is a journal of version " + std::to_string(found) + ", not " + std::to_string(version) +
                                                  "; use the version of the library that has written it");
  JournalHeader h;
  std::memcpy(h.identity.data(), p + at_identity, h.identity.size());
  h.ntasks = load<int32_t>(p + at_ntasks, order);
  h.nfiles = load<int32_t>(p + at_nfiles, order);
  h.filenumber = load<int32_t>(p + at_filenumber, order);
  h.fsblksize = load<int32_t>(p + at_fsblksize, order);
  h.data_start = load<int64_t>(p + at_data_start, order);
  return h;
}

std::array<std::byte, journal_record_size> encode(const JournalRecord& r, uint64_t seed, int64_t slot) {
  std::array<std::byte, journal_record_size> bytes{};
  std::byte* p = bytes.data();
  store<int64_t>(p + at_bytes, r.bytes, order);
  store<uint32_t>(p + at_sequence, r.sequence, order);
  store<uint32_t>(p + at_flags, (r.finished ? finished_bit : 0) | (r.checksum ? checksum_bit : 0), order);
  store<uint32_t>(p + at_checksum, r.checksum.value_or(0), order);
  store<uint64_t>(p + at_hash, hash_of_record(p, seed, slot), order);
  return bytes;
}

std::optional<JournalRecord> decode_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed, int64_t slot) {
  const auto first = decode_record(bytes.data(), seed, slot);
  const auto second = decode_record(bytes.data() + journal_record_size, seed, slot);
  if (!first || !second) return first ? first : second;
  return static_cast<int32_t>(second->sequence - first->sequence) > 0 ? second : first;
}

}  // namespace sheaf::format

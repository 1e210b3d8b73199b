#include "format/container.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "base/crc32c.hpp"
#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr unsigned char container_magic[8] = {0x89, 0x53, 0x68, 0x66, 0x43, 0x74, 0x6e, 0x0a};
constexpr size_t header_hash_at = 104;
constexpr int64_t name_at = record_head_size + 8;
constexpr int length_bits = 40;
using HostName = std::array<char, max_container_host + 1>;

uint32_t seeded(const Identity& identity, int64_t place) {
  std::array<std::byte, sizeof(Identity) + 8> bytes;
  put_fields(bytes.data(), std::tie(identity, place));
  return crc32c(0, bytes);
}

constexpr std::byte end_of_area{7};  // a kind that readers skip

// Returns the bytes that the checksum of a record covers.
std::span<const std::byte> guarded(std::span<const std::byte> record, RecordKind kind) {
  static_assert(piece_words_at == slots_at);
  const bool has_words = kind == RecordKind::piece || kind == RecordKind::sums;
  const int64_t end = has_words ? piece_words_at : std::ssize(record);
  return record.subspan(4, static_cast<size_t>(end - 4));
}

// Returns the size of a record in bytes, or its minimum if it has slots. Returns nullopt for kinds with a
// name.
std::optional<int64_t> size_of_kind(RecordKind kind) {
  switch (kind) {
    case RecordKind::create:
    case RecordKind::rename:
      return std::nullopt;
    case RecordKind::piece:
      return piece_record_size;
    case RecordKind::size:
      return record_head_size + 8;
    case RecordKind::attributes:
      return record_head_size + 16;
    case RecordKind::failure:
      return record_head_size + 24;
    case RecordKind::sums:
      return slots_at;
    case RecordKind::remove:
      break;
  }
  return record_head_size;
}

bool is_known(RecordKind kind) {
  return kind == RecordKind::failure || kind == RecordKind::sums ||
         (kind >= RecordKind::create && kind <= RecordKind::remove);
}

// Kinds of later versions may have any size.
bool is_right_size(RecordKind kind, int64_t bytes) {
  const auto fixed = size_of_kind(kind);
  if (kind == RecordKind::piece || kind == RecordKind::sums) return bytes >= *fixed;
  return !is_known(kind) || (fixed ? bytes == *fixed : bytes > name_at);
}

template <class H, class Version, class Number, class Host>
auto header_fields(H& h, Version& version, Number& page, Host& host) {
  return std::tie(version, page, h.identity, h.made, host);
}
template <class Name, class Length>
auto name_fields(Name& one, Length& length, int64_t& place) {
  return std::tie(one.modified, one.mode, length, place);
}
template <class R>
auto record_head(R& r) {
  return std::tie(r.time, r.stream.number, r.stream.origin);
}
template <class R>
auto record_failure(R& r) {
  return std::tie(r.failure, r.offset, r.length);
}
// Lists the fields of a piece record. `word` is the encoded length (length_word()).
template <class R, class Word>
auto piece_fields(R& r, Word& word) {
  return std::tie(r.offset, r.place, word, r.modified);
}
template <class R>
auto record_sums(R& r) {
  return std::tie(r.place, r.first_block);
}
template <class R>
auto record_attributes(R& r) {
  return std::tie(r.which, r.mode, r.modified);
}

bool decode_name(ContainerRecord& record, std::span<const std::byte> bytes) {
  record.mode = get_little<uint32_t>(bytes.data() + record_head_size);
  const auto length = get_little<uint32_t>(bytes.data() + record_head_size + 4);
  if (length == 0 || length > max_recorded_name || name_at + length > std::ssize(bytes)) return false;
  record.name = {reinterpret_cast<const char*>(bytes.data()) + name_at, length};
  return record.name.find('\0') == std::string_view::npos;
}

// Decodes the fields of a piece record. If the piece is placed directly after the head of its record, the
// record contains the bytes of the piece; otherwise it contains slots.
bool decode_piece(ContainerRecord& record, std::span<const std::byte> bytes, const Identity& identity,
                  int64_t place) {
  uint64_t word = 0;
  get_fields(bytes.data() + record_head_size, piece_fields(record, word));
  record.length_is_sound = length_of_word(word, identity, place).has_value();
  record.length = length_of_word(word, identity, place).value_or(0);
  const int64_t behind = std::ssize(bytes) - piece_head_size(record);
  if (behind < 0) return false;
  const bool has_slots = record.room && record.place != place + piece_head_size(record);
  (has_slots ? record.slots : record.inside) = has_slots ? behind / sum_word_size : behind;
  return record.offset >= 0 && record.place >= container_page &&
         checked_add(record.offset, max_piece_length) && checked_add(record.place, max_piece_length);
}

bool decode_sums(ContainerRecord& record, std::span<const std::byte> bytes) {
  get_fields(bytes.data() + record_head_size, record_sums(record));
  record.slots = (std::ssize(bytes) - slots_at) / sum_word_size;
  return record.place >= container_page && checked_add(record.place, max_piece_length) &&
         record.first_block >= 0 && record.first_block <= max_piece_length / summed_block;
}

void encode_slots(const ContainerRecord& record, std::byte* at) {
  for (int64_t k = 0; k < record.slots; ++k)
    put_little<uint64_t>(at + k * sum_word_size,
                         k < std::ssize(record.words) ? record.words[static_cast<size_t>(k)] : no_sum);
}

bool decode_body(ContainerRecord& record, std::span<const std::byte> bytes, const Identity& identity,
                 int64_t place) {
  const std::byte* const body = bytes.data() + record_head_size;
  switch (record.kind) {
    case RecordKind::create:
    case RecordKind::rename:
      return decode_name(record, bytes);
    case RecordKind::piece:
      return decode_piece(record, bytes, identity, place);
    case RecordKind::sums:
      return decode_sums(record, bytes);
    case RecordKind::size:
      record.size = get_little<int64_t>(body);
      return record.size >= 0;
    case RecordKind::attributes:
      get_fields(body, record_attributes(record));
      return true;
    case RecordKind::failure:
      get_fields(body, record_failure(record));
      return true;
    case RecordKind::remove:
      return true;
  }
  return false;
}

}  // namespace

uint64_t short_identity(const Identity& identity) { return get_little<uint64_t>(identity.data()); }

std::array<std::byte, container_page> encode(const ContainerHeader& header) {
  HostName host{};
  header.host.copy(host.data(), max_container_host);
  constexpr uint32_t page = container_page;
  return encode_sealed<container_page>(container_magic, header_fields(header, header.version, page, host),
                                       header_hash_at);
}

bool begins_as_container(std::span<const std::byte> bytes) { return begins_with(bytes, container_magic); }

std::optional<ContainerHeader> decode_container_header(std::span<const std::byte> bytes,
                                                       std::string_view path) {
  ContainerHeader header;
  uint32_t page;
  HostName host;
  if (!decode_sealed(bytes, container_magic, header_fields(header, header.version, page, host),
                     header_hash_at))
    return std::nullopt;
  if (header.version != container_plain && header.version != container_summed)
    throw file_error(
        Code::unsupported, path,
        "container of version " + std::to_string(header.version) + "; this Sheaf reads versions 1 and 2");
  header.host.assign(host.data(), strnlen(host.data(), max_container_host));
  return header;
}

std::array<std::byte, area_entry_size> encode(const Area& area, const Identity& identity,
                                              int64_t entry_place) {
  std::array<std::byte, area_entry_size> bytes;
  put_little<int64_t>(bytes.data(), area.place);
  put_little<uint32_t>(bytes.data() + 8, static_cast<uint32_t>(area.bytes));
  put_little<uint32_t>(bytes.data() + 12, crc32c(seeded(identity, entry_place), std::span(bytes).first(12)));
  return bytes;
}

std::optional<Area> decode_area(std::span<const std::byte, area_entry_size> bytes, const Identity& identity,
                                int64_t entry_place) {
  const Area area{get_little<int64_t>(bytes.data()), get_little<uint32_t>(bytes.data() + 8)};
  if (get_little<uint32_t>(bytes.data() + 12) != crc32c(seeded(identity, entry_place), bytes.first<12>()))
    return std::nullopt;
  if (area.place < 2 * container_page || area.place % container_page != 0 || area.bytes < container_page ||
      area.bytes % container_page != 0 || !checked_add(area.place, area.bytes))
    return std::nullopt;
  return area;
}

int64_t size_of(const ContainerRecord& record) {
  if (record.kind == RecordKind::piece)
    return *align_up(piece_head_size(record) + record.slots * sum_word_size + record.inside, 8);
  const auto fixed = size_of_kind(record.kind);
  return *align_up(fixed ? *fixed + record.slots * sum_word_size : name_at + std::ssize(record.name), 8);
}

void encode(const ContainerRecord& record, const Identity& identity, int64_t place,
            std::vector<std::byte>& bytes) {
  const int64_t size = size_of(record);
  const size_t begin = bytes.size();
  bytes.resize(begin + static_cast<size_t>(size));
  std::byte* const at = bytes.data() + begin;
  put_little<uint16_t>(at + 4, static_cast<uint16_t>(size));
  at[6] = static_cast<std::byte>(record.kind);
  static_assert(record_empties == record_room);
  at[7] = static_cast<std::byte>(record.empties || record.room ? record_room : 0);
  put_fields(at + 8, record_head(record));
  std::byte* const body = at + record_head_size;
  const uint64_t word = record.kind == RecordKind::piece ? length_word(record.length, identity, place) : 0;
  switch (record.kind) {
    case RecordKind::create:
    case RecordKind::rename:
      put_little<uint32_t>(body, record.mode);
      put_little<uint32_t>(body + 4, static_cast<uint32_t>(record.name.size()));
      std::memcpy(at + name_at, record.name.data(), record.name.size());
      break;
    case RecordKind::piece:
      put_fields(body, piece_fields(record, word));
      if (record.room) put_little<uint64_t>(at + end_word_at, record.end_word);
      encode_slots(record, at + piece_head_size(record));
      break;
    case RecordKind::sums:
      put_fields(body, record_sums(record));
      encode_slots(record, at + slots_at);
      break;
    case RecordKind::size:
      put_little<int64_t>(body, record.size);
      break;
    case RecordKind::attributes:
      put_fields(body, record_attributes(record));
      break;
    case RecordKind::failure:
      put_fields(body, record_failure(record));
      break;
    case RecordKind::remove:
      break;
  }
  put_little<uint32_t>(
      at, crc32c(seeded(identity, place), guarded({at, static_cast<size_t>(size)}, record.kind)));
}

std::vector<std::byte> encode_end(int64_t bytes, const Identity& identity, int64_t place) {
  std::vector<std::byte> record(static_cast<size_t>(bytes));
  put_little<uint16_t>(record.data() + 4, static_cast<uint16_t>(bytes));
  record[6] = end_of_area;
  put_little<uint32_t>(record.data(), crc32c(seeded(identity, place), std::span(record).subspan(4)));
  return record;
}

std::optional<DecodedRecord> decode_record(std::span<const std::byte> bytes, const Identity& identity,
                                           int64_t place) {
  if (std::ssize(bytes) < record_head_size) return std::nullopt;
  const int64_t size = get_little<uint16_t>(bytes.data() + 4);
  const auto kind = static_cast<RecordKind>(bytes[6]);
  if (size < record_head_size || size % 8 != 0 || size > std::ssize(bytes) || !is_right_size(kind, size))
    return std::nullopt;
  const auto own = bytes.first(static_cast<size_t>(size));
  if (get_little<uint32_t>(own.data()) != crc32c(seeded(identity, place), guarded(own, kind)))
    return std::nullopt;
  ContainerRecord record;
  record.kind = kind;
  const bool flagged = (own[7] & std::byte{record_empties}) != std::byte{0};
  record.empties = flagged && kind == RecordKind::create;
  record.room = flagged && kind == RecordKind::piece;
  get_fields(own.data() + 8, record_head(record));
  if (!is_known(kind)) return DecodedRecord{std::nullopt, size};
  if (!decode_body(record, own, identity, place)) return std::nullopt;
  return DecodedRecord{record, size};
}

uint64_t length_word(int64_t length, const Identity& identity, int64_t place) {
  std::array<std::byte, 8> bytes;
  put_little<int64_t>(bytes.data(), length);
  const uint64_t check = crc32c(seeded(identity, place), bytes) >> 8;
  return check << length_bits | static_cast<uint64_t>(length);
}

std::optional<int64_t> length_of_word(uint64_t word, const Identity& identity, int64_t place) {
  const auto length = static_cast<int64_t>(word & ((uint64_t{1} << length_bits) - 1));
  if (length_word(length, identity, place) != word) return std::nullopt;
  return length;
}

std::vector<std::byte> encode(std::span<const TaskName> names) {
  int64_t place = name_row_size * std::ssize(names);
  std::vector<std::byte> bytes(static_cast<size_t>(place));
  for (size_t k = 0; k < names.size(); ++k) {
    const TaskName& one = names[k];
    if (one.name.empty() || std::ssize(one.name) > max_recorded_name ||
        one.name.find('\0') != std::string::npos || (k > 0 && names[k - 1].name >= one.name))
      throw Error(Code::invalid_argument, "names of tasks must be 1 to 4095 bytes, and in order");
    const auto length = static_cast<uint32_t>(one.name.size());
    put_fields(bytes.data() + k * name_row_size, name_fields(one, length, place));
    place += length;
  }
  bytes.reserve(static_cast<size_t>(place));
  for (const TaskName& one : names) {
    const auto* const begin = reinterpret_cast<const std::byte*>(one.name.data());
    bytes.insert(bytes.end(), begin, begin + one.name.size());
  }
  return bytes;
}

std::vector<TaskName> decode_names(std::span<const std::byte> section, int64_t tasks, std::string_view path) {
  if (tasks < 0 || tasks > std::ssize(section) / name_row_size)
    throw_damaged(path, "the names of its tasks are cut off");
  std::vector<TaskName> names(static_cast<size_t>(tasks));
  int64_t place = name_row_size * tasks;
  for (int64_t k = 0; k < tasks; ++k) {
    TaskName& one = names[static_cast<size_t>(k)];
    uint32_t length;
    int64_t found;
    get_fields(section.data() + k * name_row_size, name_fields(one, length, found));
    if (found != place || length == 0 || length > max_recorded_name || place + length > std::ssize(section))
      throw_damaged(path, "the name of task " + std::to_string(k) + " is not where it must be");
    one.name.assign(reinterpret_cast<const char*>(section.data()) + place, length);
    place += length;
    if (one.name.find('\0') != std::string::npos ||
        (k > 0 && names[static_cast<size_t>(k - 1)].name >= one.name))
      throw_damaged(path, "the name of task " + std::to_string(k) + " is none, or not in order");
  }
  if (place != std::ssize(section)) throw_damaged(path, "there is more behind the names of its tasks");
  return names;
}

}  // namespace sheaf::format

// What Sheaf adds to the format, piece by piece: extension headers, trailers, groups, headers and slots of journals. The first byte
// chooses; with its highest bit, checksums and magic numbers are put right first.
#include <algorithm>
#include <array>
#include <cstring>

#include "format/extension.hpp"
#include "format/journal.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/targets.hpp"

namespace sheaf::fuzz {

namespace {

template <size_t N>
std::array<std::byte, N> filled(std::span<const std::byte> bytes) {
  std::array<std::byte, N> all{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), N), all.begin());
  return all;
}

void put_hash(std::span<std::byte> to, std::span<const std::byte> of) { store<uint64_t>(to.data(), format::hash_of(of), ByteOrder::little); }

void decode_header_with_extension(std::span<const std::byte> bytes, bool sound) {
  std::array<std::byte, format::fixed_size> header{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), size_t{format::extension_size}), header.begin() + format::extension_offset);
  if (sound) {
    std::memcpy(header.data() + format::extension_offset, "\x89Sheaf\r\n", 8);
    put_hash(std::span(header).last(8), std::span(header).first(header.size() - 8));
  }
  const auto e = format::decode_extension(header, "m");
  if (!e) return require(!sound, "a sound extension is one");
  auto again = header;
  format::put_extension(*e, again);
  require(format::decode_extension(again, "m") == e, "an extension is encoded as it was decoded");
}

void decode_a_trailer(std::span<const std::byte> bytes, bool sound) {
  Bytes file(bytes.begin(), bytes.end());
  if (file.size() < format::footer_size) file.resize(format::footer_size);
  const auto footer = std::span(file).last(format::footer_size);
  const int64_t before = std::ssize(file) * 8;  // of the file, in front of these bytes
  if (sound) {
    const auto sections = static_cast<uint32_t>((file.size() - format::footer_size) / format::section_entry_size);
    const size_t whole = sections * format::section_entry_size + format::footer_size;
    store<int64_t>(footer.data(), before, ByteOrder::little);
    store<uint32_t>(footer.data() + 8, sections, ByteOrder::little);
    std::memcpy(footer.data() + 56, "SheafEnd", 8);
    const auto table = std::span(file).last(whole);
    put_hash(footer.subspan(48), table.first(whole - 16));
    file.erase(file.begin(), file.end() - static_cast<ptrdiff_t>(whole));
  }
  const int64_t size = before + std::ssize(file);
  const auto head = format::decode_footer(std::span(file).last<format::footer_size>(), size, "m");
  if (!head) return require(!sound, "a sound footer is one");
  require(head->table >= 0 && head->table <= size - format::footer_size, "the table lies in the file");
  const format::Trailer t = format::decode_trailer(file, size, "m");
  for (const format::Section& s : t.sections)
    require(s.offset >= t.plain_end && s.length >= 0 && s.offset <= t.table - s.length, "sections lie in front of the table");
  const Bytes again = format::encode(t);
  require(format::decode_trailer(again, t.end(), "m").sections.size() == t.sections.size(), "a trailer is encoded as it was decoded");
}

void decode_a_slot(std::span<const std::byte> bytes, bool sound) {
  auto slot = filled<format::journal_slot_size>(bytes);
  const uint64_t seed = bytes.size();
  if (sound) {
    const format::JournalRecord made{load<int64_t>(slot.data(), ByteOrder::little), load<uint32_t>(slot.data() + 8, ByteOrder::little),
                                     (slot[12] & std::byte{1}) != std::byte{}, std::nullopt};
    std::ranges::copy(format::encode(made, seed, 5), slot.begin());
  }
  const auto record = format::decode_slot(slot, seed, 5);
  if (!record) return;
  require(record->bytes >= -1 && record->sequence != 0, "limits of a record");
  std::array<std::byte, format::journal_slot_size> again{};
  std::ranges::copy(format::encode(*record, seed, 5), again.begin());
  const auto same = format::decode_slot(again, seed, 5);
  require(same && same->bytes == record->bytes && same->finished == record->finished && same->checksum == record->checksum,
          "a record is encoded as it was decoded");
}

void decode_a_journal_header(std::span<const std::byte> bytes, bool sound) {
  auto header = filled<format::journal_header_size>(bytes);
  if (sound) {
    std::memcpy(header.data(), "SheafJnl", 8);
    put_hash(std::span(header).subspan(56), std::span(header).first(56));
  }
  const auto h = format::decode_journal_header(header, "m");
  if (h) require(format::decode_journal_header(format::encode(*h), "m") == h, "a journal header is encoded as it was decoded");
}

}  // namespace

void fuzz_extension(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto kind = static_cast<uint8_t>(input[0]);
  const bool sound = kind & 0x80;
  const auto bytes = input.subspan(1);
  const MemoryBound bound(MemoryBound::for_files(std::ssize(input)));
  try {
    switch (kind % 5) {
      case 0: return decode_header_with_extension(bytes, sound);
      case 1: return decode_a_trailer(bytes, sound);
      case 2: return decode_a_slot(bytes, sound);
      case 3: return decode_a_journal_header(bytes, sound);
      default: {
        const auto group = filled<format::group_entry_size>(bytes);
        return require(format::encode(format::decode_group(group)) == group, "a group is encoded as it was decoded");
      }
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz

#include "format/save_record.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr std::array<uint8_t, 8> save_magic{0x89, 'S', 'h', 'f', 'S', 'v', 'r', '\n'};
constexpr std::array<uint8_t, 8> save_slot_magic{0x89, 'S', 'h', 'f', 'S', 'v', 's', '\n'};
constexpr uint32_t newest_save_record = 1;
constexpr size_t save_seal_at = save_unit - 8;
constexpr int64_t save_mark_size = 32;
constexpr int32_t max_save_tasks = 1 << 24;  // of a host
constexpr size_t save_message_room = 160;

template <class Head>
auto save_head_fields(Head& h, uint32_t& version, uint32_t& marks, uint64_t& marks_hash) {
  return std::tie(version, h.nfiles, h.number, h.identity, h.host, h.hosts, h.tasks, marks, h.since,
                  marks_hash, h.shares_files);
}

template <class Slot>
auto save_slot_fields(Slot& s, std::array<char, save_message_room>& text, CompletionMark& mark) {
  return std::tie(s.state, s.code, s.errno_value, s.task, s.beats, s.bytes, s.written, text, mark.file,
                  mark.at, mark.pointer);
}

std::vector<std::byte> encode_marks(std::span<const CompletionMark> marks) {
  std::vector<std::byte> bytes(marks.size() * static_cast<size_t>(save_mark_size));
  for (size_t i = 0; i < marks.size(); ++i)
    put_fields(&bytes[i * static_cast<size_t>(save_mark_size)],
               std::tie(marks[i].file, marks[i].at, marks[i].pointer));
  return bytes;
}

SaveSlot decode_save_slot(std::span<const std::byte> bytes) {
  SaveSlot slot;
  std::array<char, save_message_room> text{};
  CompletionMark mark;
  if (!decode_sealed(bytes, save_slot_magic, save_slot_fields(slot, text, mark), save_seal_at)) return {};
  if (slot.state < SaveProgress::captured || slot.state > SaveProgress::failed) return {};
  if (mark.file >= 0) slot.mark = mark;
  slot.message.assign(text.data(), strnlen(text.data(), text.size()));
  return slot;
}

}  // namespace

std::string save_record_name(std::string_view temporary, int32_t host) {
  char text[24];
  std::snprintf(text, sizeof text, ".save.%06d", host);
  return std::string(temporary) + text;
}

std::array<std::byte, save_unit> encode(const SaveSlot& slot) {
  std::array<char, save_message_room> text{};
  std::memcpy(text.data(), slot.message.data(), std::min(slot.message.size(), text.size() - 1));
  CompletionMark mark = slot.mark.value_or(CompletionMark{.file = -1});
  return encode_sealed<save_unit>(save_slot_magic, save_slot_fields(slot, text, mark), save_seal_at);
}

std::vector<std::byte> encode_save_record(const SaveHead& head, std::span<const SaveSlot> tasks) {
  const std::vector<std::byte> marks = encode_marks(head.marks);
  uint32_t version = newest_save_record;
  auto count = static_cast<uint32_t>(head.marks.size());
  uint64_t hash = hash_of(marks);
  const auto first =
      encode_sealed<save_unit>(save_magic, save_head_fields(head, version, count, hash), save_seal_at);
  std::vector<std::byte> record(first.begin(), first.end());
  const auto append = [&](std::span<const std::byte> bytes) {
    record.insert(record.end(), bytes.begin(), bytes.end());
  };
  append(encode(SaveSlot{}));
  for (const SaveSlot& slot : tasks) append(encode(slot));
  append(marks);
  return record;
}

std::optional<SaveRecord> decode_save_record(std::span<const std::byte> bytes, std::string_view path) {
  if (!begins_with(bytes, save_magic)) return std::nullopt;
  SaveRecord record;
  SaveHead& h = record.head;
  uint32_t version = 0, count = 0;
  uint64_t hash = 0;
  if (!decode_sealed(bytes, save_magic, save_head_fields(h, version, count, hash), save_seal_at))
    throw_damaged(path, "the record of a save does not match its checksum");
  if (version != newest_save_record)
    throw file_error(Code::unsupported, path,
                     "the record of a save has version " + std::to_string(version) + ", not " +
                         std::to_string(newest_save_record));
  if (h.nfiles < 1 || h.hosts < 1 || h.host < 0 || h.host >= h.hosts || h.tasks < 1 ||
      h.tasks > max_save_tasks)
    throw_damaged(path, "impossible numbers in the record of a save");
  const int64_t marks_at = save_slot_offset(1 + int64_t{h.tasks});
  if (std::ssize(bytes) < marks_at + save_mark_size * int64_t{count})
    throw_damaged(path, "the record of a save is truncated");
  const auto marks =
      bytes.subspan(static_cast<size_t>(marks_at), static_cast<size_t>(save_mark_size) * count);
  if (hash_of(marks) != hash) throw_damaged(path, "the record of a save does not match its checksum");
  for (uint32_t i = 0; i < count; ++i) {
    CompletionMark& mark = h.marks.emplace_back();
    get_fields(marks.data() + static_cast<size_t>(save_mark_size) * i,
               std::tie(mark.file, mark.at, mark.pointer));
  }
  const auto slot = [&](int64_t k) {
    return decode_save_slot(bytes.subspan(static_cast<size_t>(save_slot_offset(k)), save_unit));
  };
  record.host = slot(0);
  for (int64_t k = 1; k <= h.tasks; ++k) record.tasks.push_back(slot(k));
  for (const CompletionMark& mark : record.marks())
    if (mark.file < 0 || mark.file >= h.nfiles || mark.at < 0)
      throw_damaged(path, "impossible numbers in the record of a save");
  return record;
}

std::vector<CompletionMark> SaveRecord::marks() const {
  std::vector<CompletionMark> all = head.marks;
  for (const SaveSlot& slot : tasks)
    if (slot.mark) all.push_back(*slot.mark);
  return all;
}

}  // namespace sheaf::format

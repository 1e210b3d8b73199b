#include "format/commit_record.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr std::array<uint8_t, 8> magic{0x89, 'S', 'h', 'f', 'C', 'm', 't', '\n'};
constexpr uint32_t newest_record = 1;
constexpr size_t record_hash_at = commit_record_size - 8;
constexpr std::string_view marker = ".sheaf-tmp.";
constexpr size_t digits = 16;

template <class Record, class Number>
auto record_fields(Record& r, Number& version) {
  return std::tie(version, r.nfiles, r.identity, r.number, r.replaced, r.replaced_files);
}

}  // namespace

std::array<std::byte, commit_record_size> encode(const CommitRecord& record) {
  return encode_sealed<commit_record_size>(magic, record_fields(record, newest_record), record_hash_at);
}

bool begins_as_commit_record(std::span<const std::byte> bytes) { return begins_with(bytes, magic); }

std::optional<CommitRecord> decode_commit_record(std::span<const std::byte> bytes, std::string_view path) {
  if (!begins_as_commit_record(bytes)) return std::nullopt;
  if (bytes.size() < commit_record_size) throw_damaged(path, "truncated inside the commit record");
  CommitRecord record;
  uint32_t version = 0;
  get_fields(bytes.data() + magic.size(), record_fields(record, version));
  if (version != newest_record)
    throw file_error(Code::unsupported, path,
                     "the commit record has version " + std::to_string(version) + ", not " +
                         std::to_string(newest_record));
  if (get_little<uint64_t>(bytes.data() + record_hash_at) != hash_of(bytes.first(record_hash_at)))
    throw_damaged(path, "the commit record does not match its checksum");
  if (record.nfiles < 2 || record.replaced_files < 0)
    throw_damaged(path, "impossible number of files in the commit record");
  return record;
}

std::string temporary_name(std::string_view target, uint64_t number) {
  char text[digits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return std::string(target).append(marker).append(text);
}

std::optional<TemporaryName> parse_temporary_name(std::string_view name) {
  const size_t length = marker.size() + digits;
  if (name.size() <= length) return std::nullopt;
  const std::string_view end = name.substr(name.size() - length);
  if (!end.starts_with(marker) ||
      end.find_first_not_of("0123456789abcdef", marker.size()) != std::string_view::npos)
    return std::nullopt;
  TemporaryName found{std::string(name.substr(0, name.size() - length))};
  std::from_chars(end.data() + marker.size(), end.data() + end.size(), found.number, 16);
  return found;
}

}  // namespace sheaf::format

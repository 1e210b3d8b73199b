#include "multifile/metadata/task_names.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace sheaf::multifile {

namespace {

// Returns the contents of a section, or nothing if the trailer has no such section.
std::vector<std::byte> read_section(File& file, const FileChecks& checks, format::SectionKind kind) {
  const format::Section* const section = checks.trailer().find(kind);
  if (section == nullptr) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(section->length));
  if (file.read_at(bytes, section->offset) != bytes.size() || format::hash_of(bytes) != section->hash)
    throw file_error(Code::damaged, file.path(), "the names of its tasks do not match their checksum");
  return bytes;
}

}  // namespace

TaskNames read_task_names(const Multifile& multifile) {
  const PhysicalFile& file = multifile.files.front();
  if (multifile.is_set() || !file.pointer.complete()) return {};
  const auto checks =
      FileChecks::open(*file.file, file.file->status().size, file.header, file.pointer, file.extension);
  if (!checks) return {};
  TaskNames found;
  if (const auto names = read_section(*file.file, *checks, names_section); !names.empty())
    found.names = format::decode_names(names, file.header.ntasks, file.path());
  const auto taken = read_section(*file.file, *checks, taken_section);
  if (taken.size() % sizeof(format::Identity) != 0)
    throw file_error(Code::damaged, file.path(), "its list of containers is cut off");
  found.taken.resize(taken.size() / sizeof(format::Identity));
  std::ranges::copy(taken, std::as_writable_bytes(std::span(found.taken)).begin());
  return found;
}

std::vector<MoreSection> read_name_sections(File& file, const FileChecks& checks) {
  std::vector<MoreSection> sections;
  for (const format::SectionKind kind : {names_section, taken_section})
    if (auto bytes = read_section(file, checks, kind); !bytes.empty())
      sections.push_back({kind, std::move(bytes)});
  return sections;
}

std::vector<MoreSection> sections_of(const TaskNames& names) {
  std::vector<MoreSection> sections;
  if (!names.names.empty()) sections.push_back({names_section, format::encode(names.names)});
  if (names.taken.empty()) return sections;
  std::vector<std::byte> taken;
  for (const format::Identity& one : names.taken) taken.insert(taken.end(), one.begin(), one.end());
  sections.push_back({taken_section, std::move(taken)});
  return sections;
}

}  // namespace sheaf::multifile

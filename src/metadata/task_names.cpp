#include "metadata/task_names.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

std::vector<format::TaskName> read_task_names(const Multifile& multifile) {
  const PhysicalFile& file = multifile.files.front();
  if (multifile.is_set() || !file.pointer.complete()) return {};
  const auto checks = FileChecks::open(*file.file, file.header, file.pointer, file.extension);
  const format::Section* const section =
      checks ? checks->trailer().find(format::SectionKind::names) : nullptr;
  if (section == nullptr) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(section->length));
  if (file.file->read_at(bytes, section->offset) != bytes.size() || format::hash_of(bytes) != section->hash)
    throw file_error(Code::damaged, file.path(), "the names of its tasks do not match their checksum");
  return format::decode_names(bytes, file.header.ntasks, file.path());
}

void write_task_names(File& file, format::Trailer& trailer, std::span<const std::byte> names) {
  const auto section =
      std::ranges::find(trailer.sections, format::SectionKind::names, &format::Section::kind);
  section->hash = format::hash_of(names);
  std::vector<std::byte> padded(names.begin(), names.end());
  padded.resize((names.size() + 7) / 8 * 8);
  file.write_at(padded, section->offset);
}

}  // namespace sheaf

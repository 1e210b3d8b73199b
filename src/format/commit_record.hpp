// format/commit_record: the record under the name of a set while its files are renamed, and the temporary
// names of these files (docs/format.md, section 20): bytes <-> struct.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr size_t commit_record_size = 72;  // bytes

struct CommitRecord {
  int32_t nfiles = 0;  // physical files of the new generation, > 1
  Identity identity{};
  uint64_t number = 0;  // of the temporary names
  // The generation that is replaced; zeros: there is none, or it has no identity.
  Identity replaced{};
  int32_t replaced_files = 0;

  bool operator==(const CommitRecord&) const = default;
};

std::array<std::byte, commit_record_size> encode(const CommitRecord& record);
// Whether the bytes begin with the magic of a record.
bool begins_as_commit_record(std::span<const std::byte> bytes);
// nullopt: these are not the bytes of a record. Throws damaged for a record with a wrong hash or an
// impossible number, unsupported for a version that is not known, naming `path`.
std::optional<CommitRecord> decode_commit_record(std::span<const std::byte> bytes, std::string_view path);

// Temporary name of physical file 0 of a set that gets the name `target`.
std::string temporary_name(std::string_view target, uint64_t number);

struct TemporaryName {
  std::string target;
  uint64_t number = 0;
};
// The reverse; nullopt: `name` is no temporary name of a physical file 0.
std::optional<TemporaryName> parse_temporary_name(std::string_view name);

// The name under which the commit record is written.
inline std::string commit_record_name(std::string_view temporary) {
  return std::string(temporary) + ".commit";
}

}  // namespace sheaf::format

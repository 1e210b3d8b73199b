// format/commit_record: encodes and decodes the commit record and the temporary names of the files of a set
// (docs/format.md, section 20). The commit record has the name of the set while its files are renamed.
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
  uint64_t number = 0;  // number in the temporary names
  // Identity of the generation that is replaced. Zeros: no generation is replaced, or the replaced one has no
  // identity.
  Identity replaced{};
  int32_t replaced_files = 0;

  bool operator==(const CommitRecord&) const = default;
};

std::array<std::byte, commit_record_size> encode(const CommitRecord& record);
// Returns true if the bytes begin with the magic of a record.
bool begins_as_commit_record(std::span<const std::byte> bytes);
// Decodes a record. Returns nullopt if the bytes are no record. Throws `damaged` for a wrong hash or an
// impossible number, and `unsupported` for an unknown version, naming `path`.
std::optional<CommitRecord> decode_commit_record(std::span<const std::byte> bytes, std::string_view path);

// Returns the temporary name of physical file 0 of a set with the final name `target`.
std::string temporary_name(std::string_view target, uint64_t number);

struct TemporaryName {
  std::string target;
  uint64_t number = 0;
};
// Parses a temporary name. Returns nullopt if `name` is not the temporary name of a physical file 0.
std::optional<TemporaryName> parse_temporary_name(std::string_view name);

// Returns the name under which the commit record is written before it is renamed.
inline std::string commit_record_name(std::string_view temporary) {
  return std::string(temporary) + ".commit";
}

}  // namespace sheaf::format

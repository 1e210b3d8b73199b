// format/header: META1, the head of a physical file (docs/format.md, sections "META1" and "Byte order").
//
// Pure functions between bytes and structs, without access to files. Decoding trusts no number: results have
// been checked against the limits of the format, but not against the size of a file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/export.hpp"

namespace sheaf::format {

// The first bytes of META1. plain_magic begins files that every reader of the format understands.
// encoded_magic begins files with encoded streams, which only readers with support for the extensions
// understand.
inline constexpr std::string_view plain_magic = "sion";
inline constexpr std::string_view encoded_magic = "\x89SHF";

inline constexpr int32_t newest_version = 5;
inline constexpr int32_t oldest_version = 2;
inline constexpr int32_t library_version = 1007;  // stored in the files of release 1.7.6
inline constexpr int32_t library_patch = 6;
inline constexpr int64_t prefix_size = 1024;    // bytes of the file-name field, including the NUL
inline constexpr int64_t fixed_size = 1076;     // bytes before the arrays in format 3 and later
inline constexpr int64_t fixed_size_v2 = 1056;  // bytes before the arrays in format 2
inline constexpr int64_t pointer_size = 12;     // maxblocks and start_of_varheader after the arrays

enum class KeyvalMode : int32_t { none = 50, inline_ = 51, meta = 52, hash = 53, unknown = 54, not_set = 55 };

// The fields of a header that tasks exchange.
struct SHEAF_EXPORT HeaderFields {
  ByteOrder metadata_order = native_order;
  ByteOrder userdata_order = native_order;
  int32_t library = library_version;
  int32_t patch = library_patch;
  int32_t version = newest_version;
  int32_t fsblksize = 0;  // bytes, > 0
  int32_t ntasks = 0;     // tasks of this physical file, >= 0
  int32_t nfiles = 1;
  int32_t filenumber = 0;  // 0..nfiles-1; 1 in a file written by the serial open
  int64_t flag1 = flag_of(KeyvalMode::none);
  int64_t flag2 = 0;
  bool encoded = false;  // META1 begins with encoded_magic
  // Streams consist of frames. The extension header says so (format/extension), not META1. True if `encoded`,
  // and also in compressed files that are older than encoded_magic.
  bool compressed = false;
  bool guessed = false;  // from the extension header: a repair could not determine all of the file

  static constexpr int64_t flag_of(KeyvalMode mode) { return static_cast<int64_t>(mode) << 32; }

  // Returns none or inline_. Formats before 5 have no key-value files, and mode 0 counts as none.
  KeyvalMode keyval() const {
    const auto upper = static_cast<int32_t>(flag1 >> 32);
    return version >= 5 && upper == static_cast<int32_t>(KeyvalMode::inline_) ? KeyvalMode::inline_
                                                                              : KeyvalMode::none;
  }

  // Return absolute offsets in bytes.
  int64_t globalranks_offset() const { return version <= 2 ? fixed_size_v2 : fixed_size; }
  int64_t chunksizes_offset() const { return globalranks_offset() + 8 * int64_t{ntasks}; }
  int64_t pointer_offset() const { return globalranks_offset() + 16 * int64_t{ntasks}; }

  // Returns true if this file is the first of a set of several and therefore contains the mapping.
  bool leads_set() const { return nfiles > 1 && filenumber == 0; }
};

struct SHEAF_EXPORT Header : HeaderFields {
  std::array<char, prefix_size> prefix{};  // NUL terminated

  std::string_view name() const { return prefix.data(); }
  // Copies at most 1023 bytes of `name`.
  void set_name(std::string_view name) {
    prefix.fill('\0');
    name.copy(prefix.data(), prefix_size - 1);
  }
};

// Origin of the block table that a reader uses.
enum class TableSource : uint8_t {
  file,      // META2: the file is complete
  unmarked,  // META2 of a file that was not closed: the pointer to META2 is missing
  journal,   // the journal of a file that was not closed
  none,      // the file was not closed and no task recorded anything: all streams are empty
};

// The fields after the arrays of META1 in a complete file.
struct Pointer {
  int32_t maxblocks = 0;                   // largest block count of any task
  int64_t varheader = 0;                   // absolute offset of META2; 0 in a file that was never closed
  TableSource source = TableSource::file;  // if not `file`, varheader is where META2 would be

  bool complete() const { return source == TableSource::file; }
};

// Encodes the fixed part of META1, with the magic selected by `encoded`.
std::array<std::byte, fixed_size> encode(const Header& header);

// Returns true if the first bytes of a file are encoded_magic.
bool says_encoded(std::span<const std::byte> bytes);

// Decodes the first bytes of the file, up to fixed_size bytes. Throws, naming `path`: `not_a_multifile` (too
// short, wrong magic), `unsupported` (format version) or `damaged` (a field outside its limits). Leaves
// `compressed` and `guessed` false.
Header decode_header(std::span<const std::byte> bytes, std::string_view path);
// Returns true if the bytes begin like a physical file of any version.
bool begins_as_multifile(std::span<const std::byte> bytes);

std::array<std::byte, pointer_size> encode(const Pointer& pointer, ByteOrder order);
Pointer decode_pointer(std::span<const std::byte, pointer_size> bytes, ByteOrder order);

// Encode and decode arrays of integers as stored in META1, META2 and the mapping. `to` must have room for all
// values.
template <class T>
void encode(std::span<T> values, ByteOrder order, std::span<std::byte> to) {
  SHEAF_ASSERT(to.size() >= values.size_bytes());
  for (size_t i = 0; i < values.size(); ++i) store(to.data() + i * sizeof(T), values[i], order);
}
template <class T>
void decode(std::span<const std::byte> from, ByteOrder order, std::span<T> values) {
  SHEAF_ASSERT(from.size() >= values.size_bytes());
  for (size_t i = 0; i < values.size(); ++i) values[i] = load<T>(from.data() + i * sizeof(T), order);
}

// Returns the name of physical file `number` of a set (docs/format.md, section 7), which is `base` itself for
// 0. Throws `invalid_argument` if the name does not fit into the prefix field.
SHEAF_EXPORT std::string physical_name(std::string_view base, int32_t number);

}  // namespace sheaf::format

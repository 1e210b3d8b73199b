// format/header: META1, the head of a physical file (docs/format.md, sections "META1" and "Byte order").
//
// Pure functions between bytes and structs; nothing here opens a file. Decoding never trusts a number:
// whatever it returns has been checked against the limits of the format, but not yet against the size of a
// file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/export.hpp"

namespace sheaf::format {

// What META1 begins with: of files that every reader of the format understands, and of those whose streams
// are encoded, which only such readers may open that know the extensions.
inline constexpr std::string_view plain_magic = "sion";
inline constexpr std::string_view encoded_magic = "\x89SHF";

inline constexpr int32_t newest_version = 5;
inline constexpr int32_t oldest_version = 2;
inline constexpr int32_t library_version = 1007;  // what the files of release 1.7.6 carry
inline constexpr int32_t library_patch = 6;
inline constexpr int64_t prefix_size = 1024;    // bytes of the file-name field, NUL included
inline constexpr int64_t fixed_size = 1076;     // bytes before the arrays in format 3 and later
inline constexpr int64_t fixed_size_v2 = 1056;  // the same in format 2
inline constexpr int64_t pointer_size = 12;     // maxblocks and start_of_varheader behind the arrays

enum class KeyvalMode : int32_t { none = 50, inline_ = 51, meta = 52, hash = 53, unknown = 54, not_set = 55 };

// What tasks tell each other of a header.
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
  // Not of META1: streams consist of frames, as the extension header says (format/extension). So they do if
  // encoded, and in files from before there was a magic for that.
  bool compressed = false;
  bool guessed = false;  // by an extension header: a repair could not tell all of the file

  static constexpr int64_t flag_of(KeyvalMode mode) { return static_cast<int64_t>(mode) << 32; }

  // none or inline_; a format before 5 has no key-value files, and 0 counts as none.
  KeyvalMode keyval() const {
    const auto upper = static_cast<int32_t>(flag1 >> 32);
    return version >= 5 && upper == static_cast<int32_t>(KeyvalMode::inline_) ? KeyvalMode::inline_
                                                                              : KeyvalMode::none;
  }

  // Absolute offsets in bytes.
  int64_t globalranks_offset() const { return version <= 2 ? fixed_size_v2 : fixed_size; }
  int64_t chunksizes_offset() const { return globalranks_offset() + 8 * int64_t{ntasks}; }
  int64_t pointer_offset() const { return globalranks_offset() + 16 * int64_t{ntasks}; }

  // True if this file is the first of a set of several and therefore holds the mapping.
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

// Where a reader has the block table of a file from.
enum class TableSource : uint8_t {
  file,      // META2: the file is complete
  unmarked,  // the same, but the file was not closed: the pointer to META2 is missing
  journal,   // the file was not closed: its journal tells
  nothing,   // the same, and no task had anything to tell: all are empty
};

// What is behind the arrays of META1 once the file is complete.
struct Pointer {
  int32_t maxblocks = 0;                   // largest number of blocks of any task
  int64_t varheader = 0;                   // absolute offset of META2; 0 in a file that was never closed
  TableSource source = TableSource::file;  // other than file: META2 would be at varheader

  bool complete() const { return source == TableSource::file; }
};

// With the magic that `encoded` says.
std::array<std::byte, fixed_size> encode(const Header& header);

// Whether the first bytes of a file begin with encoded_magic.
bool says_encoded(std::span<const std::byte> bytes);

// `bytes` are the first bytes of the file, up to fixed_size of them. Throws not_a_multifile (too short, wrong
// magic), unsupported (format version) or damaged (a field outside its limits), naming `path`.
// Leaves `compressed` and `guessed` false.
Header decode_header(std::span<const std::byte> bytes, std::string_view path);
// Whether the bytes begin as a physical file does, of whatever version.
bool begins_as_multifile(std::span<const std::byte> bytes);

std::array<std::byte, pointer_size> encode(const Pointer& pointer, ByteOrder order);
Pointer decode_pointer(std::span<const std::byte, pointer_size> bytes, ByteOrder order);

// Arrays of integers as META1, META2 and the mapping hold them. `to` has room for all values.
template <class T>
void encode(std::span<T> values, ByteOrder order, std::span<std::byte> to) {
  for (size_t i = 0; i < values.size(); ++i) store(to.data() + i * sizeof(T), values[i], order);
}
template <class T>
void decode(std::span<const std::byte> from, ByteOrder order, std::span<T> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = load<T>(from.data() + i * sizeof(T), order);
}

// Name of physical file `number` of a set (docs/format.md, section "Names"): `base` itself for 0.
// Throws invalid_argument if the name would not fit into the prefix field.
SHEAF_EXPORT std::string physical_name(std::string_view base, int32_t number);

}  // namespace sheaf::format

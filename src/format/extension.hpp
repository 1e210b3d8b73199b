// format/extension: encodes and decodes Sheaf's additions to a multifile, which plain readers ignore
// (docs/format.md, section 14). They are the extension header at the end of the name field of META1, and the
// trailer after META2.
//
// Pure functions between bytes and structs, little endian regardless of the byte order of the file. Decoding
// trusts no number: returned offsets and lengths lie inside the file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "format/header.hpp"

namespace sheaf::format {

inline constexpr int64_t extension_size = 64;
inline constexpr int64_t extension_offset = fixed_size - extension_size;
inline constexpr int64_t max_extended_name = prefix_size - extension_size - 1;  // bytes
inline constexpr int64_t footer_size = 64;
inline constexpr int64_t section_entry_size = 32;
inline constexpr int64_t group_tasks = 1024;  // tasks covered by one metadata hash
inline constexpr int64_t group_entry_size = 32;
inline constexpr uint32_t max_sections = 64;  // a table with more is damaged
inline constexpr uint32_t default_piece = 64 << 10;
inline constexpr uint32_t largest_piece = 16 << 20;

using Identity = std::array<std::byte, 16>;
// Returns the 32 hexadecimal digits of an identity.
SHEAF_EXPORT std::string digits_of(const Identity& identity);

enum Flag : uint16_t {
  flag_checksums = 1,
  flag_journal = 2,
  flag_guessed = 4,
  flag_in_order = 8,
  flag_compressed = 256,
  flags_known = flag_checksums | flag_journal | flag_guessed | flag_in_order | flag_compressed,
  first_mandatory_flag = 256,
};

// Only src/format/codec/ defines the other values.
enum class Codec : uint8_t { none = 0 };

struct Extension {
  uint16_t flags = 0;  // combination of Flag values
  Codec codec = Codec::none;
  int8_t level = 0;
  uint8_t shuffle = 0;  // bytes of an element; 0: none
  Identity identity{};
  uint32_t piece = 0;  // bytes per data checksum; 0 without checksums
  uint32_t frame = 0;  // uncompressed bytes of a frame; 0 without codec
  // Number of chunks with an end that a repair has guessed; > 0 only if guessed().
  uint64_t guessed_ends = 0;

  bool checksums() const { return flags & flag_checksums; }
  bool compressed() const { return flags & flag_compressed; }
  // Returns true if a repair could not determine where streams end, or which bytes they lack.
  bool guessed() const { return flags & flag_guessed; }
  // Returns true if tasks are numbered in the order of files and local ranks, regardless of their global
  // ranks.
  bool in_order() const { return flags & flag_in_order; }
  bool operator==(const Extension&) const = default;
};

// Returns true if a multifile with this name can have extensions. `name` is the one stored in META1.
inline bool extensible(std::string_view name) { return std::ssize(name) <= max_extended_name; }

// Writes the extension into `header`, the fixed part of META1. All other fields of `header` must be final,
// because the hash in the extension covers them.
void put_extension(const Extension& extension, std::span<std::byte, fixed_size> header);

// Decodes the extension header. `header` contains the first bytes of the file, as for decode_header. Returns
// nullopt for a plain file. Throws, naming `path`:
// - `damaged`: wrong hash, impossible fields, or the magic of encoded files without the flag `compressed`
// - `unsupported`: unknown version, or an unknown flag of 256 or more
std::optional<Extension> decode_extension(std::span<const std::byte> header, std::string_view path);

// Returns true if streams consist of frames, according to the magic or to the flag `compressed` of the
// extension header. The extension header may be damaged; the caller must validate it later.
bool says_compressed(std::span<const std::byte> header);
// Returns true if the flag `guessed` is set in the extension header, which may be damaged.
bool says_guessed(std::span<const std::byte> header);

// Returns true if the name in the fixed part of META1 leaves room for an extension header.
bool has_room_for_extension(std::span<const std::byte, fixed_size> header);

// Kinds of further sections are declared by the modules that use them.
enum class SectionKind : uint32_t { groups = 1, sums = 2, mapping = 3 };

struct Section {
  SectionKind kind{};
  int64_t offset = 0;  // absolute offset; a multiple of 8
  int64_t length = 0;  // bytes
  uint64_t hash = 0;   // XXH3 of the contents; 0: verified by other means
};

struct Trailer {
  Pointer pointer;  // as in META1
  Identity identity{};
  int64_t plain_end = 0;  // offset after META2 and mapping
  // Offset of the table of sections. The file ends after the table and the footer.
  int64_t table = 0;
  std::vector<Section> sections;

  const Section* find(SectionKind kind) const {
    const auto it = std::ranges::find(sections, kind, &Section::kind);
    return it == sections.end() ? nullptr : &*it;
  }
  int64_t end() const { return table + section_entry_size * std::ssize(sections) + footer_size; }
};

// Encodes table and footer, to be written at trailer.table.
std::vector<std::byte> encode(const Trailer& trailer);

// The fields of a footer that locate its table.
struct FooterHead {
  int64_t table = 0;
  uint32_t sections = 0;
};

// Decodes the last footer_size bytes of a file of `file_size` bytes. Returns nullopt if they are no footer.
// Throws `damaged` if the position of the table is impossible.
std::optional<FooterHead> decode_footer(std::span<const std::byte, footer_size> footer, int64_t file_size,
                                        std::string_view path);

// Decodes the file contents from FooterHead::table to the end. Throws `damaged` unless hash and all offsets
// are valid. Skips sections of unknown kinds.
Trailer decode_trailer(std::span<const std::byte> bytes, int64_t file_size, std::string_view path);

// Hashes and checksum position of group_tasks consecutive tasks.
struct Group {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  int64_t first_sum = 0;  // number of checksums in all preceding groups
  uint64_t sums = 0;      // XXH3 of the group's checksums as stored in the file
};
std::array<std::byte, group_entry_size> encode(const Group& group);
Group decode_group(std::span<const std::byte, group_entry_size> bytes);

// Returns the number of groups of `tasks` tasks, or of a mapping with `tasks` entries.
constexpr int64_t groups_of(int64_t tasks) { return (tasks + group_tasks - 1) / group_tasks; }

// Returns the number of checksums of a block with `used` bytes in a chunk of `chunk_size` bytes.
constexpr int64_t sums_of_block(int64_t used, int64_t chunk_size, uint32_t piece) {
  const int64_t bytes = used < chunk_size ? used : chunk_size;
  return bytes / piece + (bytes % piece != 0);
}

// XXH3 (64 bits, seed 0) of the concatenation of all bytes added.
class Hash {
 public:
  Hash();
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  std::unique_ptr<void, void (*)(void*)> state_;
};
uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace sheaf::format

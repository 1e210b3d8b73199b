// format/extension: what Sheaf adds to a multifile where plain readers do not look (docs/format.md, section
// 14): the extension header at the end of the name field of META1 and the trailer behind META2.
//
// Pure functions between bytes and structs, little endian whatever the byte order of the file. Decoding never
// trusts a number: offsets and lengths it returns lie inside the file.
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

#include "format/header.hpp"

namespace sheaf::format {

inline constexpr int64_t extension_size = 64;
inline constexpr int64_t extension_offset = fixed_size - extension_size;
inline constexpr int64_t longest_extended_name = prefix_size - extension_size - 1;  // bytes
inline constexpr int64_t footer_size = 64;
inline constexpr int64_t section_entry_size = 32;
inline constexpr int64_t group_tasks = 1024;  // tasks whose metadata have one hash
inline constexpr int64_t group_entry_size = 32;
inline constexpr uint32_t most_sections = 64;  // more in a table are damage
inline constexpr uint32_t default_piece = 64 << 10;
inline constexpr uint32_t largest_piece = 16 << 20;

using Identity = std::array<std::byte, 16>;

enum Flag : uint16_t {
  flag_checksums = 1,
  flag_journal = 2,
  flag_guessed = 4,
  flag_in_order = 8,
  flag_compressed = 256,
  flags_known = flag_checksums | flag_journal | flag_guessed | flag_in_order | flag_compressed,
  first_flag_not_to_ignore = 256,
};

// Which others there are is known to src/codec/ alone.
enum class Codec : uint8_t { none = 0 };

struct Extension {
  uint16_t flags = 0;  // of Flag
  Codec codec = Codec::none;
  int8_t level = 0;
  uint8_t shuffle = 0;  // bytes of an element; 0: none
  Identity identity{};
  uint32_t piece = 0;  // bytes per data checksum; 0 without checksums
  uint32_t frame = 0;  // uncompressed bytes of a frame; 0 without codec
  // Chunks whose end a repair has guessed; > 0 only if the file is guessed().
  uint64_t guessed_ends = 0;

  bool checksums() const { return flags & flag_checksums; }
  bool compressed() const { return flags & flag_compressed; }
  // A repair could not tell where streams end, or what is missing in them.
  bool guessed() const { return flags & flag_guessed; }
  // Tasks are numbered in the order of files and local ranks, whatever their global ranks.
  bool in_order() const { return flags & flag_in_order; }
  bool operator==(const Extension&) const = default;
};

// Whether a multifile of this name (the one stored in the prefix) can have extensions.
inline bool extensible(std::string_view name) { return std::ssize(name) <= longest_extended_name; }

// Writes the extension into the fixed part of META1, whose other fields must be final; it hashes them.
void put_extension(const Extension& extension, std::span<std::byte, fixed_size> header);

// nullopt: a plain file. Throws damaged (wrong hash, impossible fields, the magic of encoded files without a
// flag that says how) or unsupported (a version or a flag of 256 or more that is not known), naming `path`.
// `header` are the first bytes of the file, as decode_header takes them.
std::optional<Extension> decode_extension(std::span<const std::byte> header, std::string_view path);

// Whether streams consist of frames, by the magic, or the flag `compressed` of an extension header that may
// be damaged. For readers who have it checked later.
bool says_compressed(std::span<const std::byte> header);
// Whether the flag `guessed` is set in an extension header that may be damaged.
bool says_guessed(std::span<const std::byte> header);

// Whether the name stored in the fixed part of META1 leaves room for an extension header.
bool has_room_for_extension(std::span<const std::byte, fixed_size> header);

// Who has other sections made and read names their kinds.
enum class SectionKind : uint32_t { groups = 1, sums = 2, mapping = 3 };

struct Section {
  SectionKind kind{};
  int64_t offset = 0;  // in the file; a multiple of 8
  int64_t length = 0;  // bytes
  uint64_t hash = 0;   // XXH3 of the contents; 0: guarded otherwise
};

struct Trailer {
  Pointer pointer;  // as in META1
  Identity identity{};
  int64_t plain_end = 0;  // offset behind META2 and mapping
  // Offset of the table of sections; what follows the table and the footer is the end of the file
  int64_t table = 0;
  std::vector<Section> sections;

  const Section* find(SectionKind kind) const {
    const auto it = std::ranges::find(sections, kind, &Section::kind);
    return it == sections.end() ? nullptr : &*it;
  }
  int64_t end() const { return table + section_entry_size * std::ssize(sections) + footer_size; }
};

// Table and footer, to be written at trailer.table.
std::vector<std::byte> encode(const Trailer& trailer);

// The fields of a footer that say where its table is.
struct FooterHead {
  int64_t table = 0;
  uint32_t sections = 0;
};

// `footer`: the last footer_size bytes of a file of `file_size` bytes. nullopt: no footer. Throws damaged if
// it is one and its table cannot be where it says.
std::optional<FooterHead> decode_footer(std::span<const std::byte, footer_size> footer, int64_t file_size,
                                        std::string_view path);

// `bytes`: the file from FooterHead::table to its end. Throws damaged unless hash and all offsets are right;
// sections of unknown kinds are left out.
Trailer decode_trailer(std::span<const std::byte> bytes, int64_t file_size, std::string_view path);

// The hashes and the place of the checksums of group_tasks consecutive tasks.
struct Group {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  int64_t first_sum = 0;  // checksums of all groups before
  uint64_t sums = 0;      // XXH3 of the group's checksums as they are in the file
};
std::array<std::byte, group_entry_size> encode(const Group& group);
Group decode_group(std::span<const std::byte, group_entry_size> bytes);

// Groups of `tasks` tasks, or parts of a mapping of `tasks` entries.
constexpr int64_t groups_of(int64_t tasks) { return (tasks + group_tasks - 1) / group_tasks; }

// Checksums of a block of `used` bytes in a chunk of `chunk_size` bytes.
constexpr int64_t sums_of_block(int64_t used, int64_t chunk_size, uint32_t piece) {
  const int64_t bytes = used < chunk_size ? used : chunk_size;
  return bytes / piece + (bytes % piece != 0);
}

// XXH3 (64 bits, seed 0) of bytes given one piece after the other.
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

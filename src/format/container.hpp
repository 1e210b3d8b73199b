// format/container: encodes and decodes containers, to which the processes of a host write named streams
// (docs/format.md, section 19).
//
// Terms: an *area* is an extent of records. A *piece* is an extent of the bytes of a stream. A *room* is an
// extent reserved for a stream, in which the blocks have checksums in *slots*.
//
// Pure functions between bytes and structs, little endian. Decoding trusts no number: an invalid item counts
// as missing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/block_sum.hpp"
#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t container_page = 4096;  // bytes of the header and of a table; granularity of areas
inline constexpr int64_t container_changes_at = 112;  // offset of the change counter
// Value of the change counter, at container_changes_at, of a container in which only records show changes.
inline constexpr uint64_t changes_untold = UINT64_MAX;
// Offsets of two words that are 1 or 0. The first is 1 if a program has requested that bytes survive a power
// loss; the second is 1 if a write to a stream has failed and there was no space for a record of the failure.
inline constexpr int64_t container_synced_at = 120;
inline constexpr int64_t container_failed_at = 128;
inline constexpr int64_t container_alignment = 8;  // bytes; alignment of records and pieces
inline constexpr int64_t area_entry_size = 16;
// Areas of one table. The last entry of a table refers to the next table instead.
inline constexpr int64_t areas_in_table = container_page / area_entry_size - 1;
inline constexpr int64_t record_head_size = 32;
inline constexpr int64_t piece_record_size = 64;
// Offset, in a piece record, of the words that change when the piece grows: length, time, end word. The
// checksum of a record covers neither these words nor the slots of a record of sums.
inline constexpr int64_t piece_words_at = 48;
inline constexpr int64_t end_word_at = piece_record_size;            // in a piece record that begins a room
inline constexpr int64_t slots_at = 48;                              // in a record of sums
inline constexpr int64_t max_piece_length = (int64_t{1} << 40) - 1;  // bytes
inline constexpr int64_t max_container_host = 63;                    // bytes
inline constexpr int64_t max_recorded_name = 4095;                   // bytes
inline constexpr int64_t max_record = 65528;                         // bytes

inline constexpr uint32_t container_plain = 1;   // version without checksums
inline constexpr uint32_t container_summed = 2;  // version with checksums

struct ContainerHeader {
  Identity identity{};
  int64_t made = 0;  // creation time in nanoseconds since 1970
  std::string host;
  uint32_t version = container_plain;
  bool operator==(const ContainerHeader&) const = default;
};

// Returns the number that identifies a container in records of other containers.
uint64_t short_identity(const Identity& identity);

std::array<std::byte, container_page> encode(const ContainerHeader& header);
bool begins_as_container(std::span<const std::byte> bytes);
// Decodes a header. Returns nullopt if it is missing or incomplete. Throws `unsupported` for an unknown
// version, naming `path`.
std::optional<ContainerHeader> decode_container_header(std::span<const std::byte> bytes,
                                                       std::string_view path);

// The extent of a table of areas, or of consecutive records.
struct Area {
  int64_t place = 0;
  int64_t bytes = 0;
  bool operator==(const Area&) const = default;
};
std::array<std::byte, area_entry_size> encode(const Area& area, const Identity& identity,
                                              int64_t entry_place);
std::optional<Area> decode_area(std::span<const std::byte, area_entry_size> bytes, const Identity& identity,
                                int64_t entry_place);

enum class RecordKind : uint8_t {
  create = 1,
  piece = 2,
  size = 3,
  attributes = 4,
  rename = 5,
  remove = 6,
  failure = 8,  // 7 ends an area
  sums = 9,     // further slots for the checksums of a room
};

// Identifies a stream by its number and the container that created it.
struct StreamKey {
  uint64_t number = 0;
  uint64_t origin = 0;  // 0 in records of the same container
  auto operator<=>(const StreamKey&) const = default;
};

inline constexpr uint8_t record_empties = 1;  // flag of create
inline constexpr uint8_t record_room = 1;     // flag of piece
inline constexpr uint32_t sets_mode = 1;      // flag of ContainerRecord::which
inline constexpr uint32_t sets_modified = 2;  // flag of ContainerRecord::which

struct ContainerRecord {
  RecordKind kind{};
  int64_t time = 0;
  StreamKey stream = {};
  bool empties = false;         // create: also empties an existing stream
  bool length_is_sound = true;  // piece: the length word is valid; if not, `length` is 0
  std::string_view name = {};   // create, rename; refers to the decoded bytes
  uint32_t mode = 0;            // create, attributes
  uint32_t which = 0;           // attributes
  int64_t modified = 0;         // attributes, piece
  int64_t size = 0;             // size
  int64_t offset = 0;           // piece: offset in the stream
  int64_t place = 0;            // piece: offset in the container; sums: place of the room
  int64_t length = 0;           // piece
  // failure: 0 if the record reports a failed write. Otherwise the write was repeated, and this is the time
  // of the record that reported its failure.
  int64_t failure = 0;
  int64_t inside = 0;                    // piece: bytes of streams inside the record, after its fields
  bool room = false;                     // piece: begins a room and has its end word
  int64_t first_block = 0;               // sums: block of the first slot
  int64_t slots = 0;                     // piece, sums
  uint64_t end_word = 0;                 // a piece that begins a room; for encoding only
  std::span<const uint64_t> words = {};  // values of the first slots; for encoding only
};

// Returns the size in bytes of a piece record without its slots and its bytes of streams.
inline int64_t piece_head_size(const ContainerRecord& record) {
  return piece_record_size + (record.room ? sum_word_size : 0);
}

// Returns the size of the encoded record in bytes.
int64_t size_of(const ContainerRecord& record);
// Appends the encoded record, to be stored at `place` of the container, to `bytes`. Bytes of streams inside
// the record are encoded as zeros.
void encode(const ContainerRecord& record, const Identity& identity, int64_t place,
            std::vector<std::byte>& bytes);

// Returns the record that ends an area, to be stored at `place`. It takes the remaining `bytes` bytes of the
// area, so that no record can follow.
std::vector<std::byte> encode_end(int64_t bytes, const Identity& identity, int64_t place);

struct DecodedRecord {
  std::optional<ContainerRecord> record;  // nullopt: the end of an area, or an unknown kind
  int64_t bytes = 0;
};
// Decodes the first record of `bytes`, which is stored at `place`. Returns nullopt if it is missing or
// invalid.
std::optional<DecodedRecord> decode_record(std::span<const std::byte> bytes, const Identity& identity,
                                           int64_t place);

// Encodes the length of the piece with its record at `place`.
uint64_t length_word(int64_t length, const Identity& identity, int64_t place);
// Decodes a length word. Returns nullopt if it is invalid.
std::optional<int64_t> length_of_word(uint64_t word, const Identity& identity, int64_t place);

// --- Names of the tasks of a multifile (section 14.5).

inline constexpr int64_t name_row_size = 32;

struct TaskName {
  std::string name;
  int64_t modified = 0;
  uint32_t mode = 0;
  bool operator==(const TaskName&) const = default;
};

// Encodes the names of all tasks, in task order. Throws `invalid_argument` unless each name is greater than
// the preceding one.
std::vector<std::byte> encode(std::span<const TaskName> names);
// Decodes the names of `tasks` tasks. Throws `damaged`, naming `path`, unless the section is valid.
std::vector<TaskName> decode_names(std::span<const std::byte> section, int64_t tasks, std::string_view path);

}  // namespace sheaf::format

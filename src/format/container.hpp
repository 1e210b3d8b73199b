// format/container: the container that processes of one host write streams with names to (docs/format.md,
// section 19).
//
// Pure functions between bytes and structs, little endian. Decoding never trusts a number: what is not sound
// is not there.
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

inline constexpr int64_t container_page = 4096;  // bytes of the header and of a table; unit of areas
inline constexpr int64_t container_changes_at = 112;
inline constexpr uint64_t changes_untold = UINT64_MAX;  // at container_changes_at: records say it, in one log
inline constexpr int64_t container_synced_at = 120;
inline constexpr int64_t container_failed_at = 128;
inline constexpr int64_t container_alignment = 8;  // bytes: records, and pieces, begin at multiples of it
inline constexpr int64_t area_entry_size = 16;
inline constexpr int64_t areas_in_table = container_page / area_entry_size - 1;  // the last entry leads on
inline constexpr int64_t record_head_size = 32;
inline constexpr int64_t piece_record_size = 64;
// In the record: length, time, end word. Not under its checksum, nor are the slots of a record of sums.
inline constexpr int64_t piece_words_at = 48;
inline constexpr int64_t end_word_at = piece_record_size;  // in the record of a piece that begins a room
inline constexpr int64_t slots_at = 48;                    // in a record of sums
inline constexpr int64_t longest_piece = (int64_t{1} << 40) - 1;  // bytes
inline constexpr int64_t longest_container_host = 63;             // bytes
inline constexpr int64_t longest_recorded_name = 4095;            // bytes
inline constexpr int64_t longest_record = 65528;                  // bytes

inline constexpr uint32_t container_plain = 1;   // version without checksums
inline constexpr uint32_t container_summed = 2;  // version with checksums

struct ContainerHeader {
  Identity identity{};
  int64_t made = 0;  // nanoseconds since 1970
  std::string host;
  uint32_t version = container_plain;
  bool operator==(const ContainerHeader&) const = default;
};

// What stands for a container in the records of others.
uint64_t short_identity(const Identity& identity);

std::array<std::byte, container_page> encode(const ContainerHeader& header);
bool begins_as_container(std::span<const std::byte> bytes);
// nullopt: none, or not whole. Throws unsupported for a version that is not known, naming `path`.
std::optional<ContainerHeader> decode_container_header(std::span<const std::byte> bytes,
                                                       std::string_view path);

// Of a table, or of the records of one process.
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
  sums = 9,     // more slots for the checksums of a room
};

// Which stream: its number, and where it was made.
struct StreamKey {
  uint64_t number = 0;
  uint64_t origin = 0;  // 0 in records of the same container
  auto operator<=>(const StreamKey&) const = default;
};

inline constexpr uint8_t record_empties = 1;  // flag of create
inline constexpr uint8_t record_room = 1;     // flag of piece
inline constexpr uint32_t sets_mode = 1;
inline constexpr uint32_t sets_modified = 2;

struct ContainerRecord {
  RecordKind kind{};
  int64_t time = 0;
  StreamKey stream = {};
  bool empties = false;         // create
  bool length_is_sound = true;  // piece; else its length is 0
  std::string_view name = {};   // create, rename; in the bytes it was decoded from
  uint32_t mode = 0;            // create, attributes
  uint32_t which = 0;           // attributes
  int64_t modified = 0;         // attributes, piece
  int64_t size = 0;             // size
  int64_t offset = 0;           // piece: in the stream
  int64_t place = 0;            // piece: in the container; sums: of the room
  int64_t length = 0;           // piece
  int64_t failure = 0;          // failure: time of the record of one that was repeated; 0: it is one itself
  int64_t inside = 0;           // piece: bytes of streams that are behind it, in the record
  bool room = false;            // piece: it begins a room, and has its end word
  int64_t first_block = 0;      // sums: that the first slot is for
  int64_t slots = 0;            // piece, sums
  uint64_t end_word = 0;        // piece that begins a room; only to encode it
  std::span<const uint64_t> words = {};  // of the first slots; only to encode them
};

// Bytes of a piece record before its slots, or the bytes of streams in it.
inline int64_t piece_head_size(const ContainerRecord& record) {
  return piece_record_size + (record.room ? sum_word_size : 0);
}

int64_t size_of(const ContainerRecord& record);
// Appends it to `bytes`, as it will be at `place` of the container; zeros for what is inside.
void encode(const ContainerRecord& record, const Identity& identity, int64_t place,
            std::vector<std::byte>& bytes);

// The record that says that no other one comes in the rest of an area, of which it takes `bytes`.
std::vector<std::byte> encode_end(int64_t bytes, const Identity& identity, int64_t place);

struct DecodedRecord {
  std::optional<ContainerRecord> record;  // nothing: the end of an area, or of a kind that is not known
  int64_t bytes = 0;
};
// The record that the bytes begin with; nullopt: there is none that is sound.
std::optional<DecodedRecord> decode_record(std::span<const std::byte> bytes, const Identity& identity,
                                           int64_t place);

// The word that holds the length of a piece whose record is at `place`.
uint64_t length_word(int64_t length, const Identity& identity, int64_t place);
// nullopt: it is not sound.
std::optional<int64_t> length_of_word(uint64_t word, const Identity& identity, int64_t place);

// --- names of the tasks of a multifile (section 14.5)

inline constexpr int64_t name_row_size = 32;

struct TaskName {
  std::string name;
  int64_t modified = 0;
  uint32_t mode = 0;
  bool operator==(const TaskName&) const = default;
};

// In the order of the tasks, which is that of the names. Throws invalid_argument for names that are alike, or
// out of order.
std::vector<std::byte> encode(std::span<const TaskName> names);
// Throws damaged unless the section is as it must be for `tasks` tasks.
std::vector<TaskName> decode_names(std::span<const std::byte> section, int64_t tasks, std::string_view path);

}  // namespace sheaf::format

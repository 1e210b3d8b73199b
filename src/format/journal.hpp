// format/journal: encodes and decodes the journal, a file beside a physical file that is open for writing
// (docs/format.md, section 16).
//
// Pure functions between bytes and structs, little endian regardless of the byte order of the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t journal_header_size = 512;
inline constexpr int64_t journal_record_size = 32;
inline constexpr int64_t journal_slot_size = 2 * journal_record_size;

// Marks a file that has a journal. Stored in place of maxblocks while start_of_varheader is 0. Reads as -1 in
// either byte order.
inline constexpr std::array<std::byte, 4> journal_mark{std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                                       std::byte{0xff}};
// Marks a file that has a journal, but also a task that has continued without recording, so that the file may
// contain more than the journal shows. Reads as the same number in either byte order.
inline constexpr std::array<std::byte, 4> journal_gap_mark{std::byte{0xfe}, std::byte{0xfe}, std::byte{0xfe},
                                                           std::byte{0xfe}};
inline constexpr int32_t gap_marked = static_cast<int32_t>(0xfefefefe);
inline bool has_journal_gap(const Pointer& p) { return p.varheader == 0 && p.maxblocks == gap_marked; }
// Returns true if the pointer is a mark. An append writes journal_mark over the pointer of a complete file.
// If only a part of the mark was written, start_of_varheader may be that of the complete file.
inline bool is_marked(const Pointer& p) { return p.maxblocks == -1 || has_journal_gap(p); }

inline std::string journal_name(std::string_view physical_file) {
  return std::string(physical_file) + ".journal";
}
// Returns the name of the journal for the tasks of `host`, one of several hosts.
inline std::string journal_name(std::string_view physical_file, int32_t host) {
  return journal_name(physical_file) + "." + std::to_string(host);
}
// Returns the name of a file that exists if a task other than the first has continued without the journal of
// its host.
inline std::string journal_gap_name(std::string_view physical_file) {
  return journal_name(physical_file) + ".gap";
}

inline constexpr int32_t max_journal_hosts = 1 << 20;
inline constexpr int32_t no_journal_host = -1;

// Identifies the physical file of a journal. With one host the journal is NAME.journal, version 1. With
// several hosts it is version 2: NAME.journal has no records, and NAME.journal.<host> has the records of the
// tasks of one host.
struct JournalHeader {
  Identity identity{};
  int32_t ntasks = 0;
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;   // bytes
  int64_t data_start = 0;  // absolute offset
  int32_t hosts = 1;
  int32_t host = no_journal_host;  // 0..hosts-1 in the journal of one of several hosts
  // The journal file contained the journal of an earlier multifile. Invalid slots may still contain records
  // of that journal.
  bool taken_over = false;

  bool operator==(const JournalHeader&) const = default;
};

// The bytes that a task has written to one of its chunks. The slot of (block, task) contains two records. The
// newer one is valid; the older one remains if writing the newer one fails.
struct JournalRecord {
  int64_t bytes = 0;  // bytes of the chunk, from its start; -1: the chunk is not in use after all
  uint32_t sequence = 0;
  bool finished = false;  // no more bytes go into the chunk: the stream continues in the next one
  // Hash of the preceding record in the slot, 0 if there was none; distinguishes a torn record from a damaged
  // one. nullopt: the record is of an earlier version.
  std::optional<uint64_t> before = {};
};

constexpr int64_t slot_number(int64_t ntasks, int64_t block, int64_t task) { return block * ntasks + task; }
constexpr int64_t slot_offset(int64_t slot) { return journal_header_size + journal_slot_size * slot; }

// Returns a number that the hash of every record includes, so that records of another file of the same name
// are invalid.
uint64_t journal_seed(const JournalHeader& header);

std::array<std::byte, journal_header_size> encode(const JournalHeader& header);
// Returns true if the bytes begin like a journal of any version.
bool begins_as_journal(std::span<const std::byte> bytes);
// Decodes a header. Returns nullopt if it is missing or incomplete. Throws `unsupported` for an unknown
// version, naming `path`.
std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path);

std::array<std::byte, journal_record_size> encode(const JournalRecord& record, uint64_t seed, int64_t slot);
// Returns the record that follows `last` in its slot.
JournalRecord next_record(const std::optional<JournalRecord>& last, int64_t bytes, bool finished,
                          uint64_t seed, int64_t slot);
// Returns the offset in the slot of the half that stores the record with number `sequence`.
constexpr int64_t half_offset(uint32_t sequence) { return journal_record_size * (sequence % 2); }

// Returns the newer valid record of a slot, or nullopt if the slot has no valid record.
std::optional<JournalRecord> decode_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed,
                                         int64_t slot);

enum class JournalSlotState : uint8_t {
  sound,      // each half is valid, empty, or torn by an incomplete write
  corrected,  // a record had one wrong bit
  damaged,    // a record is lost, which may have been the newer one
};

// Contents of a slot and their state.
struct ExaminedSlot {
  std::optional<JournalRecord> record;  // the newer valid record
  JournalSlotState state = JournalSlotState::sound;
};
// Decodes a slot and corrects single bits. Takes 10 us if the slot is not sound.
ExaminedSlot examine_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed, int64_t slot);

}  // namespace sheaf::format

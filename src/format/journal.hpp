// format/journal: the journal beside a physical file that is open for writing (docs/format.md, section 16).
//
// Pure functions between bytes and structs, little endian whatever the byte order of the file.
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

// In place of maxblocks while start_of_varheader is 0: there is a journal. -1 in either byte order.
inline constexpr std::array<std::byte, 4> journal_mark{std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                                       std::byte{0xff}};
// The same, and a task has gone on without: there may be more than the journal tells. Alike in either byte
// order, too.
inline constexpr std::array<std::byte, 4> journal_gap_mark{std::byte{0xfe}, std::byte{0xfe}, std::byte{0xfe},
                                                           std::byte{0xfe}};
inline constexpr int32_t gap_marked = static_cast<int32_t>(0xfefefefe);
inline bool has_journal_gap(const Pointer& p) { return p.varheader == 0 && p.maxblocks == gap_marked; }
// Of the mark over the pointer of a complete file that is appended to, a part may be missing.
inline bool is_marked(const Pointer& p) { return p.maxblocks == -1 || has_journal_gap(p); }

inline std::string journal_name(std::string_view physical_file) {
  return std::string(physical_file) + ".journal";
}
// Of the tasks of one of several hosts.
inline std::string journal_name(std::string_view physical_file, int32_t host) {
  return journal_name(physical_file) + "." + std::to_string(host);
}
// There if a task other than the first has gone on without its host's journal.
inline std::string journal_gap_name(std::string_view physical_file) {
  return journal_name(physical_file) + ".gap";
}

inline constexpr int32_t most_journal_hosts = 1 << 20;
inline constexpr int32_t no_journal_host = -1;

// The physical file that a journal belongs to. Of one host it is version 1, NAME.journal. Of several it is
// version 2: NAME.journal says so and holds no records, NAME.journal.<host> those of the tasks of a host.
struct JournalHeader {
  Identity identity{};
  int32_t ntasks = 0;
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;   // bytes
  int64_t data_start = 0;  // absolute offset
  int32_t hosts = 1;
  int32_t host = no_journal_host;  // 0..hosts-1 in a journal of a host of several
  // The file held the journal of an earlier multifile: slots that are not ours may hold its records.
  bool taken_over = false;

  bool operator==(const JournalHeader&) const = default;
};

// What a task has brought into one of its chunks. The slot of (block, task) holds two records; the newer one
// counts, the older one is what is left if writing the newer one fails.
struct JournalRecord {
  int64_t bytes = 0;  // of the chunk, from its begin; -1: the chunk is not in use after all
  uint32_t sequence = 0;
  bool finished = false;  // nothing more goes into the chunk: the stream goes on in the next one
  // Hash of the record with the sequence before, 0 if there was none: tells a torn record from a damaged one.
  // nullopt: of an earlier version.
  std::optional<uint64_t> before = {};
};

constexpr int64_t slot_number(int64_t ntasks, int64_t block, int64_t task) { return block * ntasks + task; }
constexpr int64_t slot_offset(int64_t slot) { return journal_header_size + journal_slot_size * slot; }

// Ties records to their file: one that another file of the same name has left behind is not valid.
uint64_t journal_seed(const JournalHeader& header);

std::array<std::byte, journal_header_size> encode(const JournalHeader& header);
// Whether the bytes begin as a journal does, of whatever version.
bool begins_as_journal(std::span<const std::byte> bytes);
// nullopt: not there, or not whole. Throws unsupported for a version that is not known, naming `path`.
std::optional<JournalHeader> decode_journal_header(std::span<const std::byte> bytes, std::string_view path);

std::array<std::byte, journal_record_size> encode(const JournalRecord& record, uint64_t seed, int64_t slot);
// The record that follows `last` in its slot.
JournalRecord next_record(const std::optional<JournalRecord>& last, int64_t bytes, bool finished,
                          uint64_t seed, int64_t slot);
// Offset in the slot of the half that a record belongs to.
constexpr int64_t half_offset(uint32_t sequence) { return journal_record_size * (sequence % 2); }

// The newer valid record of a slot; nullopt: there is none.
std::optional<JournalRecord> decode_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed,
                                         int64_t slot);

enum class SlotState : uint8_t {
  sound,      // what is no record is empty, or was torn by a write that did not end
  corrected,  // a record had one wrong bit
  damaged,    // a record is lost, which may have been the newer one
};

// What a reader finds in a slot.
struct Slot {
  std::optional<JournalRecord> record;  // the newer valid one
  SlotState state = SlotState::sound;
};
// Corrects single bits. Takes 10 us if the slot is not sound.
Slot examine_slot(std::span<const std::byte, journal_slot_size> bytes, uint64_t seed, int64_t slot);

}  // namespace sheaf::format

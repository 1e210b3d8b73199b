// format/save_record: encodes and decodes the records of a save in the background (docs/format.md,
// section 21). Each host that writes a save has one.
//
// Pure functions between bytes and structs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"

namespace sheaf::format {

inline constexpr int64_t save_unit = 256;  // bytes of the head, and of a slot

// The bytes that make a physical file complete.
struct CompletionMark {
  int32_t file = 0;  // number of the physical file
  int64_t at = 0;    // offset in bytes
  std::array<std::byte, pointer_size> pointer{};

  bool operator==(const CompletionMark&) const = default;
};

// The constant part of a record.
struct SaveHead {
  uint64_t number = 0;  // number in the temporary names
  Identity identity{};
  int32_t nfiles = 0;
  int32_t host = 0, hosts = 0;        // number of this host, and of all hosts
  int32_t tasks = 0;                  // of this host
  uint8_t shares_files = 0;           // 1: several hosts write one physical file
  int64_t since = 0;                  // time of the close, in microseconds since 1970
  std::vector<CompletionMark> marks;  // of the files that this host completes

  bool operator==(const SaveHead&) const = default;
};

// Progress of a task or of a host; each state implies those before it.
enum class SaveProgress : uint32_t {
  captured = 1,
  written = 2,   // the bytes are in the files
  synced = 3,    // the bytes survive a loss of power
  complete = 4,  // of a host: its files are complete and synced
  failed = 5,
};

// The variable part: one slot for the host, then one for each of its tasks.
struct SaveSlot {
  SaveProgress state = SaveProgress::captured;
  uint32_t code = 0;  // of the error: sheaf::Code
  int32_t errno_value = 0;
  int32_t task = -1;         // number of the task in the multifile; for the host, of the failed task
  uint64_t beats = 0;        // increases while the process lives
  int64_t bytes = 0;         // captured
  int64_t written = 0;       // bytes
  std::string message = {};  // of the error, truncated to the room in the slot
  // Completes a file that this task has ended after the close; nullopt: the task completes none, or the head
  // has it.
  std::optional<CompletionMark> mark = std::nullopt;

  bool operator==(const SaveSlot&) const = default;
};

// Returns the name of the record of `host` for the save with the temporary name `temporary`.
std::string save_record_name(std::string_view temporary, int32_t host);

// Returns the offset of slot `number`: 0 is the host, 1 its first task.
constexpr int64_t save_slot_offset(int64_t number) { return save_unit * (1 + number); }

// Encodes a whole record: the head, the marks, and slots of the state `captured` with `bytes[k]` captured
// bytes and number `tasks[k]` for task k of the host.
std::vector<std::byte> encode_save_record(const SaveHead& head, std::span<const SaveSlot> tasks);
std::array<std::byte, save_unit> encode(const SaveSlot& slot);

struct SaveRecord {
  SaveHead head;
  SaveSlot host;
  std::vector<SaveSlot> tasks;

  // Returns the marks of the head and of the tasks.
  std::vector<CompletionMark> marks() const;
};
// Decodes a whole record. A slot that was torn by a kill counts as `captured`. Returns nullopt if the bytes
// are no record. Throws `damaged` for a wrong hash or impossible numbers, and `unsupported` for an unknown
// version, naming `path`.
std::optional<SaveRecord> decode_save_record(std::span<const std::byte> bytes, std::string_view path);

}  // namespace sheaf::format

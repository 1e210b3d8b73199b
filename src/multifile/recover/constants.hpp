// multifile/recover/constants: limits of recovery, each with its reason. In bytes unless stated otherwise.
#pragma once

#include <cstdint>

namespace sheaf::multifile::recovery_constants {

// A block table may be larger than the data it describes, since every task has an entry for each round. A
// table that exceeds both limits is not plausible, and recovery reports the file as damaged.
inline constexpr int64_t table_bytes_of_any_file = 256 << 20;
inline constexpr int64_t table_bytes_per_byte = 16;

// --- Amounts per pass. They limit the memory, and are large enough for one request to cover many small
// extents.
inline constexpr int64_t looked_at_once = 256 << 10;  // bytes read to find zeros at the ends of chunks
inline constexpr int64_t repaired_at_once = 1 << 20;  // entries of a table that is written
inline constexpr int64_t pieces_at_once = 64;         // checksum pieces between two progress calls

}  // namespace sheaf::multifile::recovery_constants

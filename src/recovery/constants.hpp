// recovery/constants: the numbers that recovery goes by, in bytes where nothing else is said, each with its
// reason.
#pragma once

#include <cstdint>

namespace sheaf::recovery_constants {

// A table may be larger than the data it tells of, since all tasks have a number for each round, but not by
// more than this.
inline constexpr int64_t table_bytes_of_any_file = 256 << 20;
inline constexpr int64_t table_bytes_per_byte = 16;

// Memory of a pass over what is there: one request for many small pieces.
inline constexpr int64_t looked_at_once = 256 << 10;  // bytes, for zeros at the ends of chunks
inline constexpr int64_t repaired_at_once = 1 << 20;  // numbers of a table that is made
inline constexpr int64_t pieces_at_once = 64;         // of data, summed up before somebody may end the work

}  // namespace sheaf::recovery_constants

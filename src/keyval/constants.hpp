// keyval/constants: the numbers that key-value records go by, in bytes, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::keyval_constants {

// --- The format (docs/format.md, section 8): key and length in front of each value.
inline constexpr size_t record_header_bytes = 16;

// --- Values that were passed over in scanning, and are kept: of a handle, and the largest. Larger ones are
// worth a request.
inline constexpr int64_t most_kept_bytes = 64 << 20;
inline constexpr int64_t largest_kept_value = 1 << 10;
// Two values this close to each other are worth reading what lies between them.
inline constexpr int64_t near_bytes = 2 << 10;
static_assert(largest_kept_value <= near_bytes && largest_kept_value < most_kept_bytes);

inline constexpr int64_t check_buffer = 256 << 10;  // records that are checked are read one after the other

}  // namespace sheaf::keyval_constants

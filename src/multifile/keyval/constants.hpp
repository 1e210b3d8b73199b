// multifile/keyval/constants: limits for key-value records, in bytes, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::multifile::keyval_constants {

// --- Format (docs/format.md, section "Key-value records"): key and length precede each value.
inline constexpr size_t record_header_bytes = 16;

// --- Values that a scan skips and keeps in memory: maximum total per handle, and maximum size of a value. A
// larger value is not kept, because reading it later justifies a request of its own.
inline constexpr int64_t max_kept_bytes = 64 << 20;
inline constexpr int64_t largest_kept_value = 1 << 10;
// If at most this many bytes separate two values, one request reads both values and the bytes between them.
inline constexpr int64_t near_bytes = 2 << 10;
static_assert(largest_kept_value <= near_bytes && largest_kept_value < max_kept_bytes);

inline constexpr int64_t check_buffer = 256 << 10;  // records to be checked are read in sequence

}  // namespace sheaf::multifile::keyval_constants

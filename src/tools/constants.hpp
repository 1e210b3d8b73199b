// tools/constants: the numbers of this room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::tools {

// Findings that a report has room for: of a physical file, in its mapping, and files that are missing.
inline constexpr size_t most_findings = 100;
inline constexpr size_t most_wrong_entries = 20;
inline constexpr int32_t most_missing_files = 20;
static_assert(most_wrong_entries < most_findings);

// Tasks that a mapping is checked for at a time, a bit each: 8 MiB.
inline constexpr int64_t tasks_at_once = 64 << 20;

// Bytes of data at a time, so that they are in the cache when they are checked.
inline constexpr int64_t checked_at_once = 1 << 20;

// Bytes of data that a share of the work on many tasks has, so that neighbours are copied together.
inline constexpr int64_t bytes_of_share = 4 << 20;
static_assert(bytes_of_share >= checked_at_once);

// Splitting by keys: outputs that are open at a time, bytes of the buffer, and bytes from which on a value is
// copied without it.
inline constexpr size_t most_open_outputs = 200;
inline constexpr int64_t split_buffer = 1 << 20;
inline constexpr int64_t copied_directly = 256 << 10;
static_assert(copied_directly <= split_buffer);

// Compressing: bytes read at a time and bytes held before they are written.
inline constexpr int64_t read_to_compress = 512 << 10;
inline constexpr int64_t compressed_buffer = 128 << 10;
// Bytes of a chunk whose end is not known yet: more than any stream needs, and sums of it do not overflow.
inline constexpr int64_t endless_chunk = INT64_MAX / 8;

}  // namespace sheaf::tools

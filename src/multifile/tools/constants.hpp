// multifile/tools/constants: numeric parameters of this module.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::tools {

// Maximum number of findings in a report: per physical file, in its mapping, and for missing files.
inline constexpr size_t max_findings = 100;
inline constexpr size_t max_wrong_entries = 20;
inline constexpr int32_t max_missing_files = 20;
static_assert(max_wrong_entries < max_findings);

// Tasks for which a mapping is checked at a time, one bit each: 8 MiB.
inline constexpr int64_t tasks_at_once = 64 << 20;

// Bytes of data read at a time, so that they are in the cache when they are checked.
inline constexpr int64_t checked_at_once = 1 << 20;

// Bytes of data in one share of the work on many tasks. Neighbouring tasks are copied together.
inline constexpr int64_t bytes_of_share = 4 << 20;
static_assert(bytes_of_share >= checked_at_once);

// Splitting by keys: outputs open at a time, size of the buffer, and size from which a value bypasses it
// (bytes).
inline constexpr size_t max_open_outputs = 200;
inline constexpr int64_t split_buffer = 1 << 20;
inline constexpr int64_t copied_directly = 256 << 10;
static_assert(copied_directly <= split_buffer);

// Compression: bytes read at a time, and bytes held before they are written.
inline constexpr int64_t read_to_compress = 512 << 10;
inline constexpr int64_t compressed_buffer = 128 << 10;
// Chunk size in bytes while the end of the chunk is unknown: more than any stream needs, and sums do not
// overflow.
inline constexpr int64_t endless_chunk = INT64_MAX / 8;

}  // namespace sheaf::tools

// multifile/tools/constants: limits and buffer sizes of the tools.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::multifile::tools {

// Maximum number of findings in a report: per physical file, in its mapping, and for missing files. Further
// findings are omitted.
inline constexpr size_t max_findings = 100;
inline constexpr size_t max_wrong_entries = 20;
inline constexpr int32_t max_missing_files = 20;
static_assert(max_wrong_entries < max_findings);

// Number of tasks for which a mapping is checked at a time. With one bit per task, this takes 8 MiB.
inline constexpr int64_t tasks_at_once = 64 << 20;

// Bytes of data read at a time. They stay in the processor's cache until their checksums are computed.
inline constexpr int64_t checked_at_once = 1 << 20;

// Bytes of data in one thread's share of the work. A share has several neighbouring tasks if they are small,
// so that their extents are copied together.
inline constexpr int64_t bytes_of_share = 4 << 20;
static_assert(bytes_of_share >= checked_at_once);

// Splitting by keys: maximum number of open outputs, bytes of the buffer, and bytes from which on a value
// bypasses the buffer.
inline constexpr size_t max_open_outputs = 200;
inline constexpr int64_t split_buffer = 1 << 20;
inline constexpr int64_t copied_directly = 256 << 10;
static_assert(copied_directly <= split_buffer);

// Compression: bytes read at a time, and bytes of output buffered before they are written.
inline constexpr int64_t read_to_compress = 512 << 10;
inline constexpr int64_t compressed_buffer = 128 << 10;
// Chunk size in bytes while the length of a compressed stream is unknown. It exceeds any stream, but is small
// enough that sums of offsets do not overflow.
inline constexpr int64_t endless_chunk = INT64_MAX / 8;

}  // namespace sheaf::multifile::tools

// multifile/stream/constants: numeric parameters of streams with their reasons, in bytes unless noted. Values
// that a caller must know are documented with the class (WriteStream::direct_bytes).
#pragma once

#include <cstddef>
#include <cstdint>

#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile::stream_constants {

// --- Writing. Large transfers end on multiples of this size, because the page cache stores large aligned
// transfers as large pages.
inline constexpr int64_t border = 64 << 10;
// Bytes that are written in one request before they are summed. They are few enough to be still in the
// processor's last-level cache, from which a sum is as fast as from the nearest one. Smaller requests cost
// ext4 more: 256 KiB an eighth more processor time than 1 MiB.
inline constexpr int64_t summed_at_once = 1 << 20;
// Maximum number of failed requests that are remembered until the program repeats them. After more failures,
// the close fails even if the program repeats all of them. Programs that queue and repeat failed requests
// stay below the limit. It bounds the memory if a program ignores failures.
inline constexpr int64_t max_failed_writes = 64;
static_assert(border <= WriteStream::direct_bytes);  // a transfer that bypasses the buffer reaches a border
static_assert(summed_at_once % border == 0);

// --- Reading.
// Initial read-ahead and the maximum number of times it doubles while the program reads sequentially.
inline constexpr uint32_t first_read_ahead = 8 << 10;
inline constexpr uint16_t max_doublings = 15;
static_assert(uint64_t{first_read_ahead} << max_doublings <= UINT32_MAX);
// Bytes read per check. They are few enough to be still in the processor's second-level cache when they are
// checked.
inline constexpr int64_t checked_at_once = 128 << 10;
// Number of checksums read at once: those of 4 MiB of data, 256 bytes. One checksum costs as much.
inline constexpr int64_t sums_ahead = 64;
// Maximum number of block starts held in memory per task. They locate a stream position without a pass over
// all blocks.
inline constexpr int64_t max_begins = 16 << 10;

// --- Moving the bytes that a program wrote beyond its chunk, and comparing them with their checksums.
inline constexpr int64_t compared_at_once = 512 << 10;

// --- Checksums of metadata: mapping entries hashed at a time, 1 MiB.
inline constexpr int64_t entries_at_once = 128 * format::group_tasks;

}  // namespace sheaf::multifile::stream_constants

// stream/constants: the numbers that streams go by, in bytes where nothing else is said, each with its
// reason. What a caller must know stands with the class (WriteStream::direct_bytes).
#pragma once

#include <cstddef>
#include <cstdint>

#include "stream/write_stream.hpp"

namespace sheaf::stream_constants {

// --- Writing.
// The buffer begins small and grows with what is in it: most of very many tasks write little.
inline constexpr int64_t first_buffer = 32;
// Large transfers end on multiples of it: the page cache takes what comes in large pieces as large pages.
inline constexpr int64_t border = 64 << 10;
// Bytes are summed in parts of this length, still in the cache; half of it or twice as much costs more.
inline constexpr int64_t summed_at_once = 256 << 10;
// In complete chunks, where a record costs a sync.
inline constexpr int64_t recorded_at_once = 16 << 20;
// Failed requests of a program that are remembered until it has repeated them: a program that keeps a queue
// repeats fewer, one that ignores failures must not fill the memory.
inline constexpr int64_t most_failed_writes = 64;
static_assert(border <= WriteStream::direct_bytes);  // what goes past the buffer reaches a border
static_assert(summed_at_once % border == 0 && recorded_at_once % summed_at_once == 0);

// --- Reading.
// What is read ahead begins so small and doubles, at most so often, while the program goes on reading.
inline constexpr uint32_t first_read_ahead = 8 << 10;
inline constexpr uint16_t most_doublings = 15;
static_assert(uint64_t{first_read_ahead} << most_doublings <= UINT32_MAX);
// So that it is still in the cache when it is checked.
inline constexpr int64_t checked_at_once = 256 << 10;
// Places of a task that are remembered, so that finding one takes no pass over all its blocks.
inline constexpr int64_t most_begins = 16 << 10;

// --- Moving what a program wrote behind its chunk, and comparing it with its checksums.
inline constexpr int64_t compared_at_once = 512 << 10;

// --- Checksums of metadata: hashes of a mapping's entries that are made at once, 1 MiB of it.
inline constexpr int64_t entries_at_once = 128 * format::group_tasks;

// --- Compression.
inline constexpr int64_t plain_buffer = 64 << 10;    // small records meet here before they go into a frame
inline constexpr int64_t most_parked = 64 << 20;     // that no frame holds, of all parked tasks
inline constexpr size_t few_frames = 2;              // are found as fast without an index
inline constexpr int64_t stored_buffer = 4 << 10;    // of a stored stream; whole frames are read past it
inline constexpr int64_t index_at_once = 1 << 20;    // of an index that is read
inline constexpr size_t most_frames_held = 1 << 19;  // frames in memory at a time
static_assert(plain_buffer < most_parked && stored_buffer < plain_buffer);

}  // namespace sheaf::stream_constants

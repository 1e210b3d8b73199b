// multifile/metadata/constants: numeric parameters of loops over the metadata of physical files, with their
// reasons. The amounts that metadata writers process at a time are in multifile/metadata/slice_sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::multifile::metadata_constants {

// --- Tables of tasks (task_table). No array of a slice exceeds 1 MiB.
inline constexpr int64_t rows_at_once = 16 << 10;        // tasks
inline constexpr int64_t row_sizes_at_once = 128 << 10;  // blocks
inline constexpr int64_t bytes_of_row = 6 * sizeof(int64_t);
inline constexpr int64_t max_starts = 16 << 10;  // chunk starts held in memory
static_assert(8 * rows_at_once <= 1 << 20 && 8 * row_sizes_at_once <= 1 << 20);

// --- Iteration over rows (task_rows). Consecutive slices grow; sizes in tasks.
inline constexpr int64_t first_slice = 1 << 10;
inline constexpr int64_t largest_slice = 16 << 10;
inline constexpr int64_t largest_batch = 32 << 10;
inline constexpr size_t max_sizes = 256 << 10;    // block sizes in a batch
inline constexpr int64_t many_blocks = 16 << 10;  // blocks of one task; the sizes of more blocks are not held
static_assert(first_slice <= largest_slice && largest_slice <= rows_at_once);

// --- Tasks with very many blocks (many_blocks).
inline constexpr int64_t neighbour_sizes_at_once = 8 << 10;
// In a table of more tasks than this, the sizes of one task are read one by one, without those of its
// neighbours.
inline constexpr int64_t max_neighbours = 512;
inline constexpr int64_t singles_at_once = 64;
inline constexpr int64_t max_blocks_held = 16 << 10;  // blocks of a task
static_assert(max_neighbours <= neighbour_sizes_at_once);

// --- Files in which tasks overran their chunks (overruns). Programs that did so had few tasks. The limits
// keep the memory for one file below 12 MiB.
inline constexpr int64_t max_tasks_of_overruns = 512 << 10;
inline constexpr size_t max_cut_blocks = 64 << 10;
inline constexpr int64_t overruns_read_at_once = 8 << 10;  // block sizes

// --- Prefetching during an open, in bytes. A request of up to 64 KiB takes hardly longer than a small one,
// and holds all metadata of small multifiles. The first request to a larger file has META1 of 900 tasks; the
// bytes after META1 are data, which the caller does not need.
inline constexpr int64_t prefetched_at_once = 64 << 10;
inline constexpr int64_t prefetched_head = 16 << 10;

// --- Small metadata (load_small_multifile): one or two requests to each file, and at most 64 KiB of rows and
// mapping in each.
inline constexpr int64_t small_tasks = 1 << 10;
inline constexpr int32_t small_files = 8;

// --- Others.
inline constexpr size_t written_at_once = 128 << 10;  // block sizes: 1 MiB
// tasks; number of chunk sizes and other values read at a time from a file that was never closed
inline constexpr int64_t recovered_at_once = 64 << 10;
inline constexpr int32_t files_counted_at_once = 4096;                // in one reduction: 32 KiB
inline constexpr int64_t boundary_rows_at_once = 4096;                // tasks
inline constexpr int64_t boundary_blocks_copied_at_once = 256 << 10;  // bytes
inline constexpr int64_t places_at_once = 128 << 10;                  // entries of a mapping: 1 MiB

}  // namespace sheaf::multifile::metadata_constants

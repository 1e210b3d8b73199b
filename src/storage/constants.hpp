// storage/constants: the constants of this module and its subdirectories (posix, decorators), each with unit
// and reason. Constants that callers must know are declared with the calls (range_lock.hpp, retries.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/os/backoff.hpp"

namespace sheaf::storage_constants {

// --- Locks: the terms of lock_timeout(), after which a lock attempt fails. Working storage never needs that
// long.
inline constexpr std::chrono::milliseconds min_lock_timeout{10'000};  // covers servers that restart
inline constexpr int64_t slowest_storage = (1 << 20) / 1000;          // bytes per millisecond
// Limits of the arguments of lock_timeout(): bytes that a task moves while it holds a range, which may be
// sparse, and tasks to wait for. They keep the timeout from overflowing.
inline constexpr int64_t max_moved_in_lock = 64 << 20;
inline constexpr int64_t max_lockers = 1 << 20;
static_assert(max_lockers * (max_moved_in_lock / slowest_storage) < INT64_MAX / 1'000'000);  // in nanoseconds

// Sleeps between attempts to create, open or remove a name that another host has changed.
inline constexpr BackoffTerms name_backoff{.first = std::chrono::milliseconds(1),
                                           .max = std::chrono::milliseconds(100)};

// --- Names that other hosts change concurrently.
// Maximum number of attempts on a name that another host has removed and recreated; then the call fails with
// ESTALE. The second attempt mostly succeeds. The sleeps add up to 0.2 s.
inline constexpr int max_stale_calls = 20;
inline constexpr BackoffTerms stale_backoff{
    .first = std::chrono::milliseconds(1), .max = std::chrono::milliseconds(20), .share = 4};
// Maximum number of attempts to open or create a file (storage/beside) that other tasks create or remove at
// the same time; then the call fails.
inline constexpr int max_beside_tries = 20;
inline constexpr std::chrono::milliseconds beside_pause{1};
// Maximum number of attempts of a lookup beneath a directory: openat2 fails with EAGAIN while any process on
// the host renames a file.
inline constexpr int max_beneath_tries = 100;
inline constexpr int max_links = 40;  // maximum number of symbolic links in sequence, as in Linux

// --- Transfers.
// Buffer for copies that the kernel does not make, in bytes.
inline constexpr int64_t copy_buffer_bytes = 4 << 20;
// Alignment in the target, in bytes, of a copy by the kernel: an aligned copy fills large pages of the
// target. A copy of at least min_from_border bytes is worth an extra call up to the first multiple.
inline constexpr int64_t copy_border = 64 << 10;
inline constexpr int64_t min_from_border = 8 * copy_border;
static_assert(copy_buffer_bytes % copy_border == 0);
// Alignment that every file system accepts with O_DIRECT, for file offsets and for memory, and size of the
// aligned buffer, both in bytes.
inline constexpr int64_t direct_block = 4096;
inline constexpr size_t direct_at_once = 1 << 20;
static_assert(direct_at_once % direct_block == 0);
inline constexpr int64_t usual_block_bytes = 4096;  // block size if the file system reports none

// Maximum bytes that gathered_file buffers. Longer writes are worth a request of their own, and metadata
// writers of many tasks have no memory to spare.
inline constexpr size_t max_gathered = 8 << 10;

// --- Write slots of a host (WriteSlots).
inline constexpr BackoffTerms slot_backoff{.first = std::chrono::microseconds(50),
                                           .max = std::chrono::milliseconds(1)};
inline constexpr int max_slot_names = 1000;  // attempts to find a name that no killed process has left

// --- Descriptors for evictable files (few_descriptors): half of the process's limit, within these bounds.
inline constexpr size_t fewest_descriptors = 8;
inline constexpr size_t max_descriptors = 64 << 10;
static_assert(fewest_descriptors < max_descriptors);

// --- File system probes.
inline constexpr int visibility_rounds = 6;
inline constexpr int race_rounds = 50;
inline constexpr int sharing_rounds = 64;  // writes of each side
inline constexpr int sharing_repeats = 3;  // the fastest repeat counts
inline constexpr int64_t max_piece = 4 << 10;
inline constexpr size_t mapped_bytes = 4 << 10;
inline constexpr int64_t probe_page = 4 << 10;
inline constexpr std::chrono::milliseconds attribute_look{20};
inline constexpr std::chrono::seconds appearance{3};  // maximum time until a new name is visible
static_assert(max_piece <= probe_page && attribute_look < appearance);

}  // namespace sheaf::storage_constants

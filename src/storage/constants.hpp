// storage/constants: the numbers that this room and the rooms below it (posix, decorators) go by, each with
// its unit and its reason. What a caller must know stands with the call (range_lock.hpp, patience.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::storage_constants {

// --- Locks: how long others may keep a range (lock_patience). Nobody waits so long whose storage works.
inline constexpr std::chrono::milliseconds least_lock_patience{10'000};  // for servers that come back
inline constexpr int64_t slowest_storage = (1 << 20) / 1000;             // bytes per millisecond
// Bytes that a task moves while it holds a range, sparse ones included, and tasks that may be waited for:
// with both the bound stays one.
inline constexpr int64_t most_moved_in_lock = 64 << 20;
inline constexpr int64_t most_lockers = 1 << 20;
static_assert(most_lockers * (most_moved_in_lock / slowest_storage) <
              INT64_MAX / 1'000'000);  // in nanoseconds

// Looks whether a range is free follow each other after an eighth of the time waited, within these bounds:
// looking costs little, and little time is lost.
inline constexpr std::chrono::microseconds shortest_look_rest{20};
inline constexpr std::chrono::milliseconds longest_look_rest{10};
static_assert(shortest_look_rest < longest_look_rest && longest_look_rest * 100 < least_lock_patience);

// --- Names that others change meanwhile.
// Calls on a name that was removed and made anew by another host: the second mostly finds what is there now.
// The pauses grow by a millisecond each.
inline constexpr int most_stale_calls = 20;
// A file beside another one that comes and goes, or is being made.
inline constexpr int most_beside_tries = 20;
inline constexpr std::chrono::milliseconds beside_pause{1};
// Lookups beneath a directory (openat2) fail while anybody on the machine renames.
inline constexpr int most_beneath_tries = 100;
inline constexpr int most_links = 40;  // symbolic links one behind the other, as for Linux

// --- Transfers.
// Memory for copies that the kernel does not make, in bytes.
inline constexpr int64_t copy_buffer_bytes = 4 << 20;
// The kernel copies so many bytes at a time: begun on a border, each fills large pages of the target. Few are
// not worth a call.
inline constexpr int64_t copy_border = 64 << 10;
inline constexpr int64_t least_from_border = 8 * copy_border;
static_assert(copy_buffer_bytes % copy_border == 0);
// Blocks that any file system takes with O_DIRECT, in the file and in memory, and bytes that pass through
// memory of ours at once.
inline constexpr int64_t direct_block = 4096;
inline constexpr size_t direct_at_once = 1 << 20;
static_assert(direct_at_once % direct_block == 0);
inline constexpr int64_t usual_block_bytes = 4096;  // where the file system names no preferred block

// Bytes of small writes that go out together (gathered_file). Longer ones are worth a request, and leaders of
// many tasks have no memory to spare.
inline constexpr size_t most_gathered = 8 << 10;

// --- Write slots of a machine (WriteSlots).
inline constexpr useconds_t shortest_slot_pause = 50;  // microseconds between two looks for a free slot
inline constexpr useconds_t longest_slot_pause = 1000;
static_assert(shortest_slot_pause < longest_slot_pause);
inline constexpr int most_slot_names = 1000;  // leftovers of killed processes are passed over

// --- Descriptors for files that rest (few_descriptors): half of what the process may have, within these
// bounds.
inline constexpr size_t fewest_descriptors = 8;
inline constexpr size_t most_descriptors = 64 << 10;
static_assert(fewest_descriptors < most_descriptors);

// --- Trying a file system out (probes).
inline constexpr int visibility_rounds = 6;
inline constexpr int race_rounds = 50;
inline constexpr int sharing_rounds = 64;  // writes of each side
inline constexpr int sharing_repeats = 3;  // the shortest counts
inline constexpr int64_t most_piece = 4 << 10;
inline constexpr size_t mapped_bytes = 4 << 10;
inline constexpr int64_t probe_page = 4 << 10;
inline constexpr std::chrono::milliseconds attribute_look{20};
inline constexpr std::chrono::seconds appearance{3};  // that a new name may take to be seen
static_assert(most_piece <= probe_page && attribute_look < appearance);

}  // namespace sheaf::storage_constants

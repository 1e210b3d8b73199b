// exchange/pieces/constants: the numbers that src/exchange and the rooms in it go by, each with its unit and
// its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::exchange {

// --- What a request costs, in bytes that could be moved meanwhile. The kernel copies about 2 KiB in the time
// of a call; a request to a server, or a message, costs as much as a hundred KiB.
inline constexpr int64_t bytes_per_write = 2 << 10;      // in writing: what is read, and written back
inline constexpr int64_t bytes_per_read = 4 << 10;       // gaps are read over
inline constexpr int64_t gap_worth_a_request = 4 << 10;  // in writing gaps are left out, not read and written
inline constexpr int64_t gap_worth_a_message = 64 << 10;  // the same where a request goes to a server
// So many gaps of a window, each a request more, cost as much as it takes to fill them: keeping others out, a
// flush and a new look at the file on all hosts, and the read.
inline constexpr int64_t gaps_worth_filling = 16;
inline constexpr int64_t gap_worth_reading = 16 << 10;  // in pieces that lie in memory of their own
static_assert(bytes_per_write * 2 == gap_worth_a_request && gap_worth_a_request <= gap_worth_reading);
static_assert(gap_worth_reading <= gap_worth_a_message);

// --- Memory of a task's own transfer, in bytes.
inline constexpr int64_t packed_bytes = 1 << 20;      // of memory that is not contiguous
inline constexpr int64_t scattered_bytes = 16 << 20;  // the same where requests are dear
inline constexpr int64_t longest_read = 16 << 20;     // of pieces that are read together
inline constexpr int64_t mover_bytes = 16 << 10;      // between two type maps: fits into the nearest cache
static_assert(mover_bytes < packed_bytes && packed_bytes < scattered_bytes);

// Writes that nobody may read and write back are repeated if somebody may have: a program that takes and
// gives back its lock all the time is not run after.
inline constexpr int most_guarded_writes = 8;
// Pages of any host have so many bytes at most; ranges that are locked for other hosts are whole ones.
inline constexpr int64_t most_host_page = 64 << 10;

// --- Who goes alone (exchange/collective). Where a page cache serves all tasks, pieces from this size on are
// worth a request: it costs less than a copy more.
inline constexpr int64_t piece_worth_a_write = 32 << 10;
inline constexpr int64_t piece_worth_a_read = 16 << 10;
static_assert(piece_worth_a_read >= gap_worth_reading && piece_worth_a_read <= piece_worth_a_write);
// Exchanging pays where the tasks together want this part of the range, or gaps are shorter on average than
// what a request costs; if the program wants it, the second part will do. Where each unit shall have one
// writer, tasks exchange what is sparse, too, unless there are more windows.
inline constexpr int64_t sparse = 8;
inline constexpr int64_t very_sparse = 256;
inline constexpr int64_t most_windows = 1 << 20;
static_assert(sparse < very_sparse);

// --- The stage of one host, whose page cache puts requests together.
inline constexpr int64_t usual_window = 128 << 10;  // bytes; a program's first call makes all slots
inline constexpr int64_t dear_window = 1 << 20;     // where requests are dear
inline constexpr int64_t largest_window = 8 << 20;  // if blocks of the file are that large
inline constexpr int stage_slots = 16;              // a power of two; 2 MiB of usual windows
inline constexpr int most_pens = 8;                 // tasks that may be at the file at a time
inline constexpr uint64_t windows_ahead = 3;        // that a task reads before their time
static_assert((stage_slots & (stage_slots - 1)) == 0 && stage_slots > most_pens + windows_ahead);
static_assert(usual_window < dear_window && dear_window < largest_window);

// --- The stages of several hosts.
inline constexpr int most_lanes = 4;              // aggregators of a host
inline constexpr int64_t most_owners = 1024;      // of windows; more writers gain nothing
inline constexpr int64_t hosts_window = 4 << 20;  // bytes: requests to servers, and messages, are long
inline constexpr int64_t least_hosts_window = 64 << 10;
// A short range is cut into so many windows for each owner, so that none has twice as much as another, but
// into no shorter ones than that.
inline constexpr int64_t windows_of_an_owner = 4;
inline constexpr int64_t short_window = 256 << 10;     // bytes
inline constexpr int64_t memory_of_a_lane = 48 << 20;  // bytes of windows, on every host
// Of a plan's codes, in bytes: so much of them goes with their lengths.
inline constexpr size_t short_code = 4 << 10;
inline constexpr int rounds_under_way = 3;  // one is filled, one travels, one is written
static_assert(most_lanes * memory_of_a_lane >= rounds_under_way * most_owners * least_hosts_window);
static_assert(least_hosts_window <= short_window && short_window <= hosts_window);

// --- Other handles of a file (transfer/other_handles): so many of their marks taken at once are rather one
// who fills gaps than chance, and who does so is waited for.
inline constexpr int tries_at_once = 4;
inline constexpr std::chrono::seconds patience_with_fillers{60};

inline constexpr size_t stage_page = 4096;  // parts of a stage begin on pages

}  // namespace sheaf::exchange

// multifile/journal/constants: limits for journals and leases, each with its unit and reason. The times of
// leases, which tests change, are in LeaseTimes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/journal.hpp"

namespace sheaf::journal_constants {

// Entries of arrays of tasks, or of their slots, in memory at a time: at most 1 MiB.
inline constexpr int64_t slots_at_once = 16 << 10;  // when reading
inline constexpr size_t tasks_at_once = 16 << 10;   // when writing
inline constexpr int64_t counts_at_once = 64 << 10;
static_assert(slots_at_once * format::journal_slot_size <= 1 << 20 &&
              counts_at_once * sizeof(int64_t) <= 1 << 20);

// Interval at which a lease of another host is read; short compared with the interval at which its counter is
// raised.
inline constexpr std::chrono::milliseconds between_looks{100};

// Minimum interval between two checks of a lease before writes, since a check may be a message. Many small
// writes then cost few checks. A task that was stopped during a takeover always checks, because its last
// check is older.
inline constexpr std::chrono::milliseconds between_writers_looks{100};

// Wait for another program to remove a lease, which takes a few file system calls.
inline constexpr std::chrono::milliseconds between_takers{5};
// Limit on attempts to take a lease while other programs create and remove theirs. At the limit other
// programs are considered to be always faster.
inline constexpr int max_takes = 100;

}  // namespace sheaf::journal_constants

// multifile/journal/constants: limits for journals and leases, each with its unit and reason. The times of
// leases, which tests change, are in LeaseTimes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/journal.hpp"

namespace sheaf::multifile::journal_constants {

// Maximum number of array entries in memory at a time, with one entry per task or per slot of a task. No
// array exceeds 1 MiB.
inline constexpr int64_t slots_at_once = 16 << 10;  // when reading
inline constexpr size_t tasks_at_once = 16 << 10;   // when writing
inline constexpr int64_t counts_at_once = 64 << 10;
static_assert(slots_at_once * format::journal_slot_size <= 1 << 20 &&
              counts_at_once * sizeof(int64_t) <= 1 << 20);

// If records require a sync, complete chunks are recorded in batches of at least this many bytes.
inline constexpr int64_t recorded_at_once = 16 << 20;

// Interval at which a waiting task reads the lease of another host. It is short compared with the interval at
// which the owner increments the counter in the lease.
inline constexpr std::chrono::milliseconds check_interval{100};

// A task checks its lease before a write only if its last check is older than this interval. A check may send
// a message to a file server, so many small writes share one check. A task that was suspended during a
// takeover still checks before its next write, because its last check is too old.
inline constexpr std::chrono::milliseconds writer_check_interval{100};

// Pause of a task while another program removes a lease. A removal takes a few file system calls.
inline constexpr std::chrono::milliseconds between_takers{5};
// Maximum number of attempts to create a lease while other programs create and remove theirs. After the last
// attempt, an existing lease counts as the lease of a running job.
inline constexpr int max_takes = 100;

}  // namespace sheaf::multifile::journal_constants

// comm/mpi/constants: tunable numbers of this module.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "comm/constants.hpp"
#include "comm/shm_barrier.hpp"

namespace sheaf::mpi {

// Tags of our own messages on a group's communicator: the pieces of gathers and scatters (their total length
// may exceed an MPI count), and exchanges. Both kinds may be in flight at the same time.
inline constexpr int pieces_tag = 1;
inline constexpr int exchange_tag = 2;
static_assert(pieces_tag != exchange_tag);
// Tag of the messages of mpi_presence. Only messages of late tasks can be in flight at the same time.
inline constexpr int presence_tag = 3;
static_assert(presence_tag != pieces_tag && presence_tag != exchange_tag);
// Pieces that the root has in flight at a time, so that its memory for them does not grow with the tasks.
inline constexpr size_t pieces_at_once = 1024;

// A waiting task first yields its core, then sleeps for a sixteenth of the time it has waited. The limits
// keep the wake-ups cheap and the delay small.
inline constexpr std::chrono::microseconds yielding{300};
inline constexpr std::chrono::microseconds min_sleep{30};
inline constexpr std::chrono::microseconds max_sleep{200};
static_assert(min_sleep <= max_sleep && max_sleep <= yielding);

// After this many reductions, the tasks of several hosts are grouped by host. Grouping costs about ten
// reductions by messages and saves more than half of each later one.
inline constexpr int reductions_worth_hosts = 16;

// Duplicates of a communicator that are cached for the next open.
inline constexpr size_t max_spares = 8;

// Caller's numbers that the first reduction of a group includes; most are from agree(). They share the
// barrier in shared memory with the status of the cached duplicates, of the world and of the topology.
inline constexpr size_t max_on_first_meeting = comm_constants::max_agreed_values + 1;
static_assert((max_spares + 2 + max_on_first_meeting) * sizeof(int64_t) <= ShmBarrier::max_bytes);

}  // namespace sheaf::mpi

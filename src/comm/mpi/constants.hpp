// comm/mpi/constants: tunable numbers of this module.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "comm/constants.hpp"
#include "comm/shm_barrier.hpp"

namespace sheaf::mpi {

// Tags of Sheaf's own messages on a group's communicator: `pieces_tag` for gathers and scatters, whose total
// length may exceed an MPI count, and `exchange_tag` for exchanges. Both kinds may be in flight at the same
// time.
inline constexpr int pieces_tag = 1;
inline constexpr int exchange_tag = 2;
static_assert(pieces_tag != exchange_tag);
// Tag of the messages of mpi_presence. Messages of late tasks may still be in flight when others are sent.
inline constexpr int presence_tag = 3;
static_assert(presence_tag != pieces_tag && presence_tag != exchange_tag);
// Maximum number of pieces that the root has in flight. It bounds the root's memory for requests, which would
// otherwise grow with the tasks.
inline constexpr size_t pieces_at_once = 1024;

// A task that waits for a nonblocking call yields its core at first, for as long as tasks that arrive
// together usually wait.
inline constexpr BackoffTerms call_backoff{.first = std::chrono::microseconds(30),
                                           .max = std::chrono::microseconds(200),
                                           .share = 16,
                                           .yielding = std::chrono::microseconds(300)};
// Sleeps of a task that waits for a message. A long message needs several calls on both sides, so sleeps stay
// short while one may be in flight.
inline constexpr BackoffTerms message_backoff{.first = std::chrono::microseconds(30),
                                              .max = std::chrono::microseconds(500),
                                              .share = 100,
                                              .yielding = std::chrono::milliseconds(1)};
// Polling for words of other tasks (mpi_presence), and for the end of a cancelled message, which may have
// arrived in part from a task that has died since.
inline constexpr BackoffTerms poll_backoff{.first = std::chrono::microseconds(200),
                                           .max = std::chrono::microseconds(200)};
inline constexpr std::chrono::milliseconds cancel_timeout{200};

// After this many reductions, the tasks of several hosts are grouped by host. Grouping costs about ten
// reductions by messages and saves more than half of each later one.
inline constexpr int reductions_worth_hosts = 16;

// Maximum number of cached duplicates of a communicator. If all are in use, an open duplicates the
// communicator and frees the duplicate when the file is closed.
inline constexpr size_t max_cached = 8;

// Maximum number of the caller's values that the first reduction of a group includes; agree() passes the
// most. One contribution to the barrier in shared memory holds them together with the flags of the max_cached
// duplicates, a flag for MPI_COMM_WORLD's cache, and the topology.
inline constexpr size_t max_on_first_barrier = comm_constants::max_agreed_values + 1;
static_assert((max_cached + 2 + max_on_first_barrier) * sizeof(int64_t) <= ShmBarrier::max_bytes);

}  // namespace sheaf::mpi

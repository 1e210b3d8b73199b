// comm_mpi/constants: the numbers of this room.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "comm/constants.hpp"
#include "comm/shared_meeting.hpp"

namespace sheaf::mpi {

// Messages of our own on a group's communicator: pieces of gathers and scatters, whose lengths MPI's own
// calls could not count together, and exchanges. Both may be under way.
inline constexpr int pieces_tag = 1;
inline constexpr int exchange_tag = 2;
static_assert(pieces_tag != exchange_tag);
// And those of mpi_presence, when nothing else is under way but for tasks that are late.
inline constexpr int presence_tag = 3;
static_assert(presence_tag != pieces_tag && presence_tag != exchange_tag);
// Of these pieces the root has so many under way: its memory for them does not grow with the tasks.
inline constexpr size_t pieces_at_once = 1024;

// Who waits gives its core away at first, and then sleeps: a sixteenth of what it has waited, within limits
// that keep waking cheap and lateness small.
inline constexpr std::chrono::microseconds yielding{300};
inline constexpr std::chrono::microseconds shortest_sleep{30};
inline constexpr std::chrono::microseconds longest_sleep{200};
static_assert(shortest_sleep <= longest_sleep && longest_sleep <= yielding);

// Tasks of several hosts find who shares their memory when they have reduced numbers so often: that costs as
// much as some ten reductions by messages, and saves more than half of each.
inline constexpr int reductions_worth_hosts = 16;

// Duplicates of a communicator that are kept for the next open.
inline constexpr size_t most_spares = 8;

// Numbers of the caller that the first meeting of a group takes along: agree() brings most of them. They meet
// in shared memory with those of the spares, the world's and the topology's.
inline constexpr size_t most_on_first_meeting = comm_constants::most_agreed_values + 1;
static_assert((most_spares + 2 + most_on_first_meeting) * sizeof(int64_t) <= SharedMeeting::most_bytes);

}  // namespace sheaf::mpi

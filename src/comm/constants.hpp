// comm/constants: the numbers that this room goes by, each with its unit and its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::comm_constants {

// --- The meeting in shared memory: one line of memory for each task, whom the last one reads one by one.
inline constexpr int most_tasks_of_a_meeting = 1024;  // on a host
inline constexpr size_t most_bytes_of_a_contribution = 1024;
// Values of the program that travel with the word of an agreement.
inline constexpr size_t most_agreed_values = 16;
static_assert((most_agreed_values + 1) * sizeof(int64_t) <= most_bytes_of_a_contribution);

// --- Waiting in a meeting. A task looks so many times, and then for so long, before it sleeps; the time is
// that of two tasks, or fewer, on a core, and shrinks by the square of how many share one.
inline constexpr int glances = 8;
inline constexpr std::chrono::nanoseconds awake = std::chrono::milliseconds(1);
inline constexpr long shortest_nap = 200'000;  // ns between two calls of `progress`
inline constexpr long longest_nap = 4'000'000;
static_assert(shortest_nap < longest_nap);
// Of a core's time that a call of `progress` takes, in ns. One with nothing to do mostly takes 2.5 to 4 us
// where tasks share cores, as it gives its core away; one that copies 64 KiB takes 8 or more.
inline constexpr long surely_idle = 3'000;
inline constexpr long surely_moves = 8'000;
static_assert(surely_idle < surely_moves && surely_moves < shortest_nap);

}  // namespace sheaf::comm_constants

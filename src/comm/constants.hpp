// comm/constants: tunable numbers of this module, each with its unit and its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::comm_constants {

// --- The barrier in shared memory: one cache line per task, read one by one by the last task to arrive.
inline constexpr int max_tasks_of_a_meeting = 1024;  // tasks per host
inline constexpr size_t max_bytes_of_a_contribution = 1024;
// Caller's values that are reduced in the same call as the status of an agreement.
inline constexpr size_t max_agreed_values = 16;
static_assert((max_agreed_values + 1) * sizeof(int64_t) <= max_bytes_of_a_contribution);

// --- Waiting in a barrier. A task polls `glances` times, then until `awake` has passed, before it sleeps.
// The time applies to at most two tasks per core and shrinks with the square of the tasks per core.
inline constexpr int glances = 8;
inline constexpr std::chrono::nanoseconds awake = std::chrono::milliseconds(1);
inline constexpr long min_nap = 200'000;  // ns between two calls of `progress`
inline constexpr long max_nap = 4'000'000;
static_assert(min_nap < max_nap);
// Processor time of one call of `progress`, in ns. An idle call takes 2.5 to 4 us where tasks share cores,
// because it yields its core. A call that copies 64 KiB takes at least 8 us.
inline constexpr long surely_idle = 3'000;
inline constexpr long surely_moves = 8'000;
static_assert(surely_idle < surely_moves && surely_moves < min_nap);

}  // namespace sheaf::comm_constants

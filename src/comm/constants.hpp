// comm/constants: tunable numbers of this module, each with its unit and its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/os/backoff.hpp"

namespace sheaf::comm_constants {

// --- The barrier in shared memory. Every task reads the contributions that it needs one by one. Larger
// groups, and longer contributions, use messages instead.
inline constexpr int max_tasks_of_a_barrier = 1024;          // tasks
inline constexpr size_t max_bytes_of_a_contribution = 1024;  // bytes per task
// Maximum number of the caller's values that agree() reduces in the same call as the status, so that a
// success costs one reduction. Their bytes must fit into one contribution.
inline constexpr size_t max_agreed_values = 16;
static_assert((max_agreed_values + 1) * sizeof(int64_t) <= max_bytes_of_a_contribution);

// --- Waiting in a barrier. A task polls at least `glances` times and at least for the time `awake` before it
// sleeps. With more than two tasks per core, the time shrinks with the square of the tasks per core, because
// polling slows down the tasks that compute.
inline constexpr int glances = 8;
inline constexpr std::chrono::nanoseconds awake = std::chrono::milliseconds(1);
// Sleeps between calls of `progress`.
inline constexpr BackoffTerms barrier_backoff{.first = std::chrono::microseconds(200),
                                              .max = std::chrono::milliseconds(4)};
// Processor time of one call of `progress`, in ns. An idle call takes 2.5 to 4 us if tasks share cores,
// because it yields its core: up to `surely_idle`, the sleeps grow. A call that copies 64 KiB
// takes at least 8 us: above `surely_moves`, the task calls `progress` again without sleeping.
inline constexpr long surely_idle = 3'000;
inline constexpr long surely_moves = 8'000;
static_assert(surely_idle < surely_moves && surely_moves < barrier_backoff.first.count());

}  // namespace sheaf::comm_constants

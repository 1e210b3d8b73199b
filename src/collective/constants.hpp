// collective/constants: the numbers that collective calls of multifiles go by, in bytes where nothing else is
// said, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::collective_constants {

// --- Rounds. A collector has memory for all tasks of its group; a task needs no more than a long request.
inline constexpr int64_t most_per_collector = 16 << 20;
inline constexpr int64_t most_per_task = 256 << 10;
inline constexpr int64_t least_per_task = 256;  // that a round of writing carries, in very large groups too
static_assert(least_per_task < most_per_task && most_per_task < most_per_collector);

// --- Groups. With so few tasks and so little from each, one collector for all is done sooner than several
// writers to one file can take turns (bench/mpi_bench_collective, 4 tasks).
inline constexpr int few_tasks = 15;
inline constexpr int64_t little_per_task = 64 << 10;

// --- Reading. Longer requests are read by the task itself where it may choose.
inline constexpr int64_t direct_read = 64 << 10;
inline constexpr size_t most_extents = 256;  // pieces of what a task wants to have read in a round
// Small pieces that a task reads alone come with what lies behind them, which it mostly wants next.
inline constexpr size_t small_read = 8 << 10;
inline constexpr size_t read_ahead = 64 << 10;
static_assert(small_read < read_ahead && direct_read <= most_per_task);

// --- Closing.
inline constexpr int64_t most_chunks = 64 << 10;      // chunks that a collector records in a round
inline constexpr int64_t brought_at_once = 16 << 20;  // of a file whose edges are brought home

}  // namespace sheaf::collective_constants

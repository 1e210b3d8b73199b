// multifile/collective/constants: limits of collective calls on multifiles, each with its reason. In bytes
// unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::collective_constants {

// --- Rounds. A collector has memory for all tasks of its group. A task needs no more than one long request.
inline constexpr int64_t max_per_collector = 16 << 20;
inline constexpr int64_t max_per_task = 256 << 10;
inline constexpr int64_t min_per_task = 256;  // per task in a round of writing, also in very large groups
static_assert(min_per_task < max_per_task && max_per_task < max_per_collector);

// --- Groups. With few tasks and few bytes from each, one collector for all finishes before several writers
// to one file can take turns (bench/mpi_bench_collective, 4 tasks).
inline constexpr int few_tasks = 15;
inline constexpr int64_t little_per_task = 64 << 10;

// --- Reading. A task that may choose reads longer requests itself.
inline constexpr int64_t direct_read = 64 << 10;
inline constexpr size_t max_extents = 256;  // extents that a task may request in a round
// A task that reads a small extent alone also reads the bytes that follow, which it mostly needs next.
inline constexpr size_t small_read = 8 << 10;
inline constexpr size_t read_ahead = 64 << 10;
static_assert(small_read < read_ahead && direct_read <= max_per_task);

// --- Closing.
inline constexpr int64_t max_chunks = 64 << 10;       // chunks that a collector records in a round
inline constexpr int64_t brought_at_once = 16 << 20;  // bytes of boundary blocks per step of their merge

}  // namespace sheaf::collective_constants

// multifile/collective/constants: limits of collective calls on multifiles, each with its reason. In bytes
// unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::multifile::collective_constants {

// --- Rounds. A collector holds the bytes of all tasks of its group, so its total is limited. Requests of
// max_per_task bytes are already efficient, so a task gets no more.
inline constexpr int64_t max_per_collector = 16 << 20;
inline constexpr int64_t max_per_task = 256 << 10;
inline constexpr int64_t min_per_task = 256;  // per task in a round of writing, even in very large groups
static_assert(min_per_task < max_per_task && max_per_task < max_per_collector);

// --- Groups. Up to these limits, one collector writes for all tasks of a file. It finishes earlier than
// several collectors, which would take turns in writing to the file (bench/mpi_bench_collective, 4 tasks).
inline constexpr int few_tasks = 15;
inline constexpr int64_t little_per_task = 64 << 10;

// --- Reading. If the group size is automatic, a task reads requests of direct_read bytes or more itself.
inline constexpr int64_t direct_read = 64 << 10;
inline constexpr size_t max_extents = 256;  // extents that a task may request in a round
// A task that itself reads at most small_read bytes requests read_ahead bytes, because it mostly needs the
// following bytes next.
inline constexpr size_t small_read = 8 << 10;
inline constexpr size_t read_ahead = 64 << 10;
static_assert(small_read < read_ahead && direct_read <= max_per_task);

// --- Closing.
inline constexpr int64_t max_chunks = 64 << 10;       // chunks that a collector records in a round
inline constexpr int64_t brought_at_once = 16 << 20;  // bytes of boundary blocks per step of their merge

}  // namespace sheaf::multifile::collective_constants

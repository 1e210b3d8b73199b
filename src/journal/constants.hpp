// journal/constants: the numbers that journals and leases go by, each with its unit and its reason. The times
// of leases, which tests change, stand with them (LeaseTimes).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/journal.hpp"

namespace sheaf::journal_constants {

// Arrays of tasks, or of their slots, that are held at a time: 1 MiB at most.
inline constexpr int64_t slots_at_once = 16 << 10;  // read
inline constexpr size_t tasks_at_once = 16 << 10;   // written
inline constexpr int64_t counts_at_once = 64 << 10;
static_assert(slots_at_once * format::journal_slot_size <= 1 << 20 &&
              counts_at_once * sizeof(int64_t) <= 1 << 20);

// While a lease of another machine is watched: short beside the time between two raises of its counter.
inline constexpr std::chrono::milliseconds between_looks{100};

// Between two looks at a lease before writes, where a look may be a message: many small writes cost few, and
// a task that was stopped until somebody has taken over has not looked for longer.
inline constexpr std::chrono::milliseconds between_writers_looks{100};

// While another program removes a lease: a few calls of the file system.
inline constexpr std::chrono::milliseconds between_takers{5};
// Leases that come and go while one is taken; each was judged, and many mean that others are always faster.
inline constexpr int most_takes = 100;

}  // namespace sheaf::journal_constants

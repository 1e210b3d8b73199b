// streams/container/constants: tuning constants of containers of named streams, each with its reason. The
// unit is bytes unless stated otherwise. Limits that callers must know are declared with the calls
// (container_set.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/container.hpp"
#include "format/extension.hpp"

namespace sheaf::container_constants {

// --- Areas of records; each belongs to one process. The first area is small because a process that writes
// one stream needs no more.
inline constexpr int64_t first_area = 4096;
inline constexpr int64_t largest_area = 1 << 20;
inline constexpr int64_t spare_at = 2 * format::container_page;  // place: the page after the first table
inline constexpr size_t max_mapped = 64;                         // areas; pieces of older areas rarely grow
static_assert(first_area <= largest_area);

// --- Stretches: space for the bytes of streams.
inline constexpr int64_t first_stretch = 64 << 10;
inline constexpr int64_t largest_stretch = 8 << 20;
inline constexpr int64_t max_inside = 8 << 10;  // stored in the record itself, which readers read anyway
inline constexpr int64_t aligned_from = 4096;   // such requests start on a new page, as in files
inline constexpr int64_t worth_discarding = 64 << 10;  // smaller amounts do not justify a system call
static_assert(max_inside < first_stretch && first_stretch < largest_stretch);

// --- Streams. Limit of the extra room for a stream that cannot grow in place because other streams' bytes
// follow.
inline constexpr int64_t max_ahead = 4 << 20;
inline constexpr int64_t zeros_at_once = 1 << 20;
inline constexpr size_t max_failures = 64;   // recorded failed writes; more do not add information
inline constexpr size_t max_repeating = 16;  // writes that may be the start of a retry of one failed write
static_assert(max_ahead <= largest_stretch);

// --- Reading. An area that was read before has probably grown by little.
inline constexpr int64_t first_at_once = 4 << 10;
inline constexpr int64_t max_at_once = 64 << 10;
inline constexpr int64_t looked_at_once = 1 << 20;  // searched for records in a damaged container
inline constexpr int64_t max_but_pieces = 5000;     // upper bound of a record with a name
static_assert(first_at_once < max_at_once && max_but_pieces < max_at_once);

// --- Gathering containers into a multifile. One request covers many small streams.
inline constexpr int64_t copied_at_once = 1 << 20;
inline constexpr int64_t summed_at_once = format::default_piece;
static_assert(copied_at_once % summed_at_once == 0);
// Checksums of holes cost as much memory and time as those of data.
inline constexpr int64_t max_holes = int64_t{1} << 40;
inline constexpr std::chrono::seconds patience_with_locks{5};
// Waiting for another job that gathers the same set; once that job is done, nothing is left to do.
inline constexpr std::chrono::seconds patience_with_gathering{60};
inline constexpr std::chrono::milliseconds rest_between_tries{50};
static_assert(rest_between_tries < patience_with_locks);

// --- Other hosts. Interval between checks for streams closed on other hosts, when no caller waits for the
// result. The interval is at least this constant and this multiple of a check's duration, which grows with
// the number of hosts.
inline constexpr std::chrono::seconds rest_between_looks{1};
inline constexpr int rest_per_look = 50;
inline constexpr std::chrono::milliseconds rest_between_questions{100};
static_assert(rest_between_questions < rest_between_looks);

inline constexpr size_t max_of_name = 48;  // characters of the host name in the name of its container

}  // namespace sheaf::container_constants

// container/constants: the numbers that containers of named streams go by, in bytes where nothing else is
// said, each with its reason. What a caller must know stands with the call (container_set.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/container.hpp"
#include "format/extension.hpp"

namespace sheaf::container_constants {

// --- Areas of records, of one process each. They begin small: a process that writes one stream needs no
// more.
inline constexpr int64_t first_area = 4096;
inline constexpr int64_t largest_area = 1 << 20;
inline constexpr int64_t spare_at = 2 * format::container_page;  // a place: behind the first table
inline constexpr size_t most_mapped = 64;                        // areas; of older ones few pieces still grow
static_assert(first_area <= largest_area);

// --- Stretches of data.
inline constexpr int64_t first_stretch = 64 << 10;
inline constexpr int64_t largest_stretch = 8 << 20;
inline constexpr int64_t most_inside = 8 << 10;  // that lie in the record itself, which readers read anyway
inline constexpr int64_t aligned_from = 4096;    // requests of so many do not share pages, as those of files
inline constexpr int64_t worth_discarding = 64 << 10;  // less is not worth a system call
static_assert(most_inside < first_stretch && first_stretch < largest_stretch);

// --- Streams. One that others get between gets so much more room at once.
inline constexpr int64_t most_ahead = 4 << 20;
inline constexpr int64_t zeros_at_once = 1 << 20;
inline constexpr size_t most_failures = 64;   // writes that failed; more are as good as these
inline constexpr size_t most_repeating = 16;  // writes that may have begun to repeat one of them
static_assert(most_ahead <= largest_stretch);

// --- Reading. An area that is known may have little more than it had.
inline constexpr int64_t first_at_once = 4 << 10;
inline constexpr int64_t most_at_once = 64 << 10;
inline constexpr int64_t looked_at_once = 1 << 20;   // for records in what is damaged
inline constexpr int64_t longest_but_pieces = 5000;  // more than a record with a name has
static_assert(first_at_once < most_at_once && longest_but_pieces < most_at_once);

// --- Making a multifile of containers: many small streams in one request.
inline constexpr int64_t copied_at_once = 1 << 20;
inline constexpr int64_t summed_at_once = format::default_piece;
static_assert(copied_at_once % summed_at_once == 0);
// Checksums of holes take memory and time as those of data do.
inline constexpr int64_t most_holes = int64_t{1} << 40;
inline constexpr std::chrono::seconds patience_with_locks{5};
// With another job that makes the multifile: then there is nothing left to do.
inline constexpr std::chrono::seconds patience_with_gathering{60};
inline constexpr std::chrono::milliseconds rest_between_tries{50};
static_assert(rest_between_tries < patience_with_locks);

// --- Other hosts. Where nobody waits for what another host has closed: so long, and so many times as long as
// a look takes, which grows with the hosts.
inline constexpr std::chrono::seconds rest_between_looks{1};
inline constexpr int rest_per_look = 50;
inline constexpr std::chrono::milliseconds rest_between_questions{100};
static_assert(rest_between_questions < rest_between_looks);

inline constexpr size_t most_of_name = 48;  // of the name of a host that is in that of its container

}  // namespace sheaf::container_constants

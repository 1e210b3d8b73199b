// streams/container/constants: tuning constants of containers of named streams, in bytes unless stated
// otherwise. Limits that callers must know are declared with the calls (container_set.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/container.hpp"
#include "format/extension.hpp"

namespace sheaf::streams::container_constants {

// --- Areas of records; each belongs to one process. The first area of a process is small, because it
// suffices for a process that writes one stream. Later areas grow up to the largest size.
inline constexpr int64_t first_area = 4096;
inline constexpr int64_t largest_area = 1 << 20;
inline constexpr int64_t spare_at = 2 * format::container_page;  // place: the page after the first table
inline constexpr size_t max_mapped = 64;                         // areas; pieces of older areas rarely grow
static_assert(first_area <= largest_area);

// --- Stretches: space for the bytes of streams.
inline constexpr int64_t first_stretch = 64 << 10;
inline constexpr int64_t largest_stretch = 8 << 20;
inline constexpr int64_t max_inside = 8 << 10;  // maximum piece in a record, which saves readers a request
inline constexpr int64_t aligned_from = 4096;   // pieces from this size on start on a new page, as in files
inline constexpr int64_t worth_discarding = 64 << 10;  // fewer bytes are not worth a system call
static_assert(max_inside < first_stretch && first_stretch < largest_stretch);

// --- Streams. Maximum of the extra room that a stream gets when it cannot grow in place because bytes of
// other streams follow.
inline constexpr int64_t max_ahead = 4 << 20;
inline constexpr int64_t zeros_at_once = 1 << 20;
inline constexpr size_t max_failures = 64;   // failed writes recorded; flush() reports only the first
inline constexpr size_t max_repeating = 16;  // writes tracked as possible retries of one failed write
static_assert(max_ahead <= largest_stretch);

// --- Reading. Request sizes within an area. The first request is small, because an area that was read before
// has probably grown by little.
inline constexpr int64_t first_at_once = 4 << 10;
inline constexpr int64_t max_at_once = 64 << 10;
inline constexpr int64_t looked_at_once = 1 << 20;  // read at once to search a damaged container for records
inline constexpr int64_t max_but_pieces = 5000;     // upper bound of the size of a record with a name
static_assert(first_at_once < max_at_once && max_but_pieces < max_at_once);

// --- Gathering containers into a multifile. One request covers many small streams.
inline constexpr int64_t copied_at_once = 1 << 20;
inline constexpr int64_t summed_at_once = format::default_piece;
static_assert(copied_at_once % summed_at_once == 0);
// Total size of holes above which gathering fails: checksums of holes cost as much memory and time as those
// of data.
inline constexpr int64_t max_holes = int64_t{1} << 40;
inline constexpr std::chrono::seconds container_lock_timeout{5};
// Maximum wait for another job that gathers the same set. When that job is done, this job has nothing left to
// do.
inline constexpr std::chrono::seconds gathering_timeout{60};
inline constexpr std::chrono::milliseconds rest_between_tries{50};
static_assert(rest_between_tries < container_lock_timeout);

// --- Other hosts. Minimum interval between checks for streams closed on other hosts, when no caller waits
// for the result. The interval is also at least rest_per_look times the duration of the last check, so that
// checks of many hosts take at most 2 % of the time.
inline constexpr std::chrono::seconds check_interval{1};
inline constexpr int rest_per_look = 50;
inline constexpr std::chrono::milliseconds rest_between_questions{100};
static_assert(rest_between_questions < check_interval);

inline constexpr size_t max_of_name = 48;  // characters of the host name in the name of its container

}  // namespace sheaf::streams::container_constants

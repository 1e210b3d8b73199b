// storage/background/constants: parameters of background writing, each with its reason. In bytes unless
// stated otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/os/backoff.hpp"

namespace sheaf::background_constants {

// Unit in which captured memory is allocated, and the most that one request writes. A piece is a large page,
// and a request of this size costs little more than its bytes.
inline constexpr size_t piece = size_t{2} << 20;
// A write is split at the end of a piece only if it is larger than this. So no request of a few bytes arises.
inline constexpr size_t smallest_split = size_t{64} << 10;
static_assert(smallest_split < piece);

// A copy is summed in parts of this size, because the copy has loaded them into the cache of the core. Larger
// copies bypass the cache: their bytes would not stay there until they are written.
inline constexpr size_t copied_at_once = size_t{64} << 10;

// Sleeps of a task that waits for memory which other tasks of its host hold.
inline constexpr BackoffTerms memory_backoff{.first = std::chrono::microseconds(200),
                                             .max = std::chrono::milliseconds(10)};

}  // namespace sheaf::background_constants

// streams/container/sums/constants: tuning constants of the checksums of containers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/os/backoff.hpp"
#include "format/block_sum.hpp"

namespace sheaf::streams::sums_constants {

// Number of verified blocks that a reader remembers: 8 KiB of memory for 64 MiB of streams.
inline constexpr size_t remembered_blocks = 1024;

// A reader reads a block with a mismatch again, because the writer may have written the bytes but not yet
// their checksum. The delay doubles with each reread. On a served file system, the number of rereads is
// larger, because bytes of other hosts may arrive some seconds late.
inline constexpr BackoffTerms reread_backoff{.first = std::chrono::microseconds(50),
                                             .max = std::chrono::seconds(2)};
inline constexpr int rereads = 3;
inline constexpr int served_rereads = 16;  // 3 s in total

// Minimum number of slots added to a piece. Later additions double the number of slots, so that few records
// are needed.
inline constexpr int64_t first_slots = 16;
static_assert(first_slots <= format::max_slots);

// Bytes written or read at once: small enough to be in the processor's cache when their checksums are
// computed.
inline constexpr int64_t summed_at_a_time = 512 << 10;
static_assert(summed_at_a_time % format::summed_block == 0);

// Maximum number of words in one read request: one for each block that summed_at_a_time bytes touch. These
// bytes may start and end within a block.
inline constexpr int64_t words_at_once = summed_at_a_time / format::summed_block + 1;

}  // namespace sheaf::streams::sums_constants

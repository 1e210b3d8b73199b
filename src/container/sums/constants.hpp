// container/sums/constants: the numbers that checksums of containers go by.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "format/block_sum.hpp"

namespace sheaf::sums_constants {

// Blocks that a reader remembers to have compared: 8 KiB of memory, for 64 MiB of streams.
inline constexpr size_t remembered_blocks = 1024;

// A block that does not match is read again: its writer may be between the bytes and their checksum. The
// first rest, which doubles, and the number of times. Servers give what other hosts have written some seconds
// late.
inline constexpr std::chrono::microseconds first_rest{50};
inline constexpr int rereads = 3;
inline constexpr int served_rereads = 16;  // 3 s in all

// Slots that are added to a piece: as many as it has, so that records of them are few.
inline constexpr int64_t first_slots = 16;
static_assert(first_slots <= format::most_slots);

// Bytes that are written, or read, at once: the processor still has them in its cache when their checksums
// are computed.
inline constexpr int64_t summed_at_a_time = 512 << 10;
static_assert(summed_at_a_time % format::summed_block == 0);

// That are read in one request: those of the blocks that are read at once, which may begin and end within
// one.
inline constexpr int64_t words_at_once = summed_at_a_time / format::summed_block + 1;

}  // namespace sheaf::sums_constants

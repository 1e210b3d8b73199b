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

// Bytes of one piece, or of one write over others: its slots are in one record, its checksums in memory.
inline constexpr int64_t most_written = format::most_slots * format::summed_block;

inline constexpr int64_t words_at_once = 64;  // that are read in one request

}  // namespace sheaf::sums_constants

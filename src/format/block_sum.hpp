// format/block_sum: the word that stores the checksum of a block of a container (docs/format.md, section 19,
// "Checksums").
#pragma once

#include <cstdint>
#include <optional>

#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t summed_block = default_piece;  // bytes, as in multifiles
inline constexpr int64_t max_slots = 4096;              // words in one record
inline constexpr int64_t sum_word_size = 8;

// Checksum of the first `bytes` bytes of a block.
struct BlockSum {
  uint32_t sum = 0;   // CRC32C
  int64_t bytes = 0;  // 0: the checksum of the block is unknown
};

inline constexpr uint64_t no_sum = 1;  // word of an unused slot

inline uint64_t sum_word(const BlockSum& sum, int64_t block) {
  constexpr uint64_t is_set = uint64_t{1} << 63;
  return is_set | (static_cast<uint64_t>(block) & 0x3fff) << 49 | static_cast<uint64_t>(sum.bytes) << 32 |
         sum.sum;
}

// Decodes a word. Returns nullopt if it is not the word of block number `block` (modulo 2^14).
inline std::optional<BlockSum> sum_of_word(uint64_t word, int64_t block) {
  const BlockSum found{static_cast<uint32_t>(word), static_cast<int64_t>(word >> 32 & 0x1ffff)};
  if (found.bytes > summed_block || word != sum_word(found, block)) return std::nullopt;
  return found;
}

}  // namespace sheaf::format

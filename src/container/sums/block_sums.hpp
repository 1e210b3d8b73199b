// container/sums/block_sums: where a container keeps the checksums of blocks, and reads that compare them
// (docs/format.md, section 19, "Checksums").
//
// A writer changes a block in this order: its word says that nothing is known, then the bytes, then the new
// checksum; an append writes the bytes first. So a reader that finds a mismatch reads word and bytes again, a
// bounded number of times, before it reports damage.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/sums/constants.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Blocks of one room whose words are found in one way.
struct BlockSums {
  int64_t room = 0;      // place of block 0; 0: there are no checksums
  int64_t first = 0;     // block of the first slot
  int64_t slots = 0;     // number of slots
  int64_t slots_at = 0;  // place of the first slot
  int64_t end_at = 0;    // place of the end word; 0: there is none

  int64_t block_at(int64_t place) const { return (place - room) / format::summed_block; }
  int64_t place_of(int64_t block) const { return room + block * format::summed_block; }
  // Place of its slot; 0: it has none here.
  int64_t slot_of(int64_t block) const {
    return block >= first && block < first + slots ? slots_at + (block - first) * format::sum_word_size : 0;
  }
};

// The word of a block.
struct FoundSum {
  int64_t at = 0;  // place; 0: the block has none
  bool is_end = false;
  format::BlockSum sum;
};

// Decides which of its two words counts for a block: the slot unless it was never used, else the end word if
// it is of that block.
FoundSum choose_sum(const BlockSums& sums, int64_t block, uint64_t slot, uint64_t end);

// Bytes of blocks that were compared. Threads: any, without a lock, so that forks may come at any time. A
// block that was compared once is not compared again as long as it is remembered.
class CheckedBlocks {
 public:
  // served: bytes of other hosts come late from a server.
  explicit CheckedBlocks(bool served = false)
      : rereads_(served ? sums_constants::served_rereads : sums_constants::rereads) {}

  int rereads() const { return rereads_; }  // of a block that does not match
  bool has(int64_t place, int64_t bytes) const {
    const uint64_t known = cell(place).load(std::memory_order_relaxed);
    return known >> length_bits == key(place) && static_cast<int64_t>(known & length_mask) >= bytes;
  }
  void add(int64_t place, int64_t bytes) {
    cell(place).store(key(place) << length_bits | static_cast<uint64_t>(bytes), std::memory_order_relaxed);
  }

 private:
  static constexpr int length_bits = 17;
  static constexpr uint64_t length_mask = (uint64_t{1} << length_bits) - 1;
  static_assert(format::summed_block <= static_cast<int64_t>(length_mask));
  using Cells = std::array<std::atomic<uint64_t>, sums_constants::remembered_blocks>;

  // A place of 2^47 or more is never remembered: its upper bits are lost in a cell.
  static uint64_t key(int64_t place) { return static_cast<uint64_t>(place); }
  static size_t index(int64_t place) { return (key(place) * 0x9e3779b97f4a7c15u >> 32) % Cells().size(); }
  const std::atomic<uint64_t>& cell(int64_t place) const { return cells_[index(place)]; }
  std::atomic<uint64_t>& cell(int64_t place) { return cells_[index(place)]; }

  const int rereads_;
  Cells cells_{};
};

// A block whose bytes do not match its checksum.
class SumMismatch : public Error {
 public:
  SumMismatch(const std::string& container, int64_t at, int64_t count);
  // Throws the error for the stream `name`, which has the block at `offset`.
  [[noreturn]] void refuse(std::string_view name, int64_t offset) const;

  std::string path;  // of the container
  int64_t place;     // of the block there
  int64_t bytes;     // that the checksum covers
};

// Reads as File::read_at(), zeros behind the end of the file, and compares the blocks that the bytes are in;
// what no checksum covers is only read. Throws SumMismatch, and what reading throws.
void read_checked(File& file, const BlockSums& sums, std::span<std::byte> data, int64_t place,
                  CheckedBlocks& checked);

// Of a block, as its words say now.
format::BlockSum read_sum(File& file, const BlockSums& sums, int64_t block);

// Reads words; those behind the end of the file are 0.
void read_words(File& file, int64_t at, std::span<uint64_t> words);

}  // namespace sheaf

// streams/container/sums/block_sums: finds the block checksums of a container, and reads bytes with
// verification (docs/format.md, section 19, "Checksums").
//
// A writer overwrites a block in three steps: it sets the checksum word to "unknown", writes the bytes, and
// writes the new checksum. An append writes the bytes before their checksum. A reader may therefore see new
// bytes with an old checksum. It reads both again, a bounded number of times, before it reports damage.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "storage/file.hpp"
#include "streams/container/sums/constants.hpp"

namespace sheaf::streams {

// Consecutive blocks of one room, and the places of their checksum words.
struct BlockSums {
  int64_t room = 0;      // place of block 0; 0: no checksums
  int64_t first = 0;     // block number of the first slot
  int64_t slots = 0;     // number of slots
  int64_t slots_at = 0;  // place of the first slot
  int64_t end_at = 0;    // place of the end word; 0: none

  int64_t block_at(int64_t place) const { return (place - room) / format::summed_block; }
  int64_t place_of(int64_t block) const { return room + block * format::summed_block; }
  // Returns the place of the block's slot; 0 if these slots do not include the block.
  int64_t slot_of(int64_t block) const {
    return block >= first && block < first + slots ? slots_at + (block - first) * format::sum_word_size : 0;
  }
};

// The checksum word of a block.
struct FoundSum {
  int64_t at = 0;  // place; 0: the block has no word
  bool is_end = false;
  format::BlockSum sum;
};

// Selects the valid word of a block: the slot if it was ever written, else the end word if the end word
// belongs to this block. `slot` and `end` are the values of the two words.
FoundSum choose_sum(const BlockSums& sums, int64_t block, uint64_t slot, uint64_t end);

// Remembers the blocks that were verified most recently, so that a reader need not verify them again. Any
// thread may use it. It has no lock, so a fork may happen at any time.
class CheckedBlocks {
 public:
  // `served`: bytes of other hosts arrive late from a server.
  explicit CheckedBlocks(bool served = false)
      : rereads_(served ? sums_constants::served_rereads : sums_constants::rereads) {}

  int rereads() const { return rereads_; }  // maximum number of rereads of a block that does not match
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

  // Places of 2^47 and above are never remembered: a cell loses their upper bits.
  static uint64_t key(int64_t place) { return static_cast<uint64_t>(place); }
  static size_t index(int64_t place) { return (key(place) * 0x9e3779b97f4a7c15u >> 32) % Cells().size(); }
  const std::atomic<uint64_t>& cell(int64_t place) const { return cells_[index(place)]; }
  std::atomic<uint64_t>& cell(int64_t place) { return cells_[index(place)]; }

  const int rereads_;
  Cells cells_{};
};

// Thrown if the bytes of a block do not match its checksum.
class SumMismatch : public Error {
 public:
  SumMismatch(const std::string& container, int64_t at, int64_t count);
  // Throws the error for the stream `name`, in which the block starts at `offset`.
  [[noreturn]] void refuse(std::string_view name, int64_t offset) const;

  std::string path;  // of the container
  int64_t place;     // place of the block in the container
  int64_t bytes;     // number of bytes covered by the checksum
};

// Reads as File::read_at(), with zeros beyond the end of the file, and verifies all blocks that contain the
// bytes. Blocks without a checksum are only read. Throws SumMismatch and the errors of reading.
void read_checked(File& file, const BlockSums& sums, std::span<std::byte> data, int64_t place,
                  CheckedBlocks& checked);

// Reads the words of a block and returns the checksum in the valid one.
format::BlockSum read_sum(File& file, const BlockSums& sums, int64_t block);

// Reads words; those beyond the end of the file are 0.
void read_words(File& file, int64_t at, std::span<uint64_t> words);

}  // namespace sheaf::streams

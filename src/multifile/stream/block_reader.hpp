// multifile/stream/block_reader: reads the recorded blocks of one task at any position, and verifies data
// that have checksums.
//
// Local. All sizes in bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/export.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/stream/block_sizes.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Place of the checksums of a task's data.
struct SumsPlace {
  int64_t at = 0;          // offset in the file of the task's first checksum
  uint32_t piece = 0;      // bytes per checksum; 0: no checksums
  int32_t local_rank = 0;  // number of the task, for messages
};

// Checksums that were read ahead: those of consecutive pieces of a block.
struct SumsAhead {
  int64_t at = 0;  // offset in the file of the first one
  std::vector<uint32_t> sums;
};

class SHEAF_EXPORT BlockReader {
 public:
  BlockReader() = default;
  // The table that `sizes` refers to must outlive its use. With `sums`, data are verified in whole pieces.
  // Bytes beyond a chunk are not verified.
  BlockReader(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
              const SumsPlace& sums);

  File& file() const { return *file_; }
  const layout::ChunkGeometry& geometry() const { return geometry_; }
  const BlockSizes& sizes() const { return sizes_; }
  // Returns the bytes per checksum; 0: no checksums.
  uint32_t piece() const { return uint32_t{piece_pages_} * page; }
  // Returns the number of bytes with checksums at the start of a block.
  int64_t checked_size(int64_t block) const {
    return piece_pages_ == 0 ? 0 : std::min(sizes_[block], geometry_.size);
  }
  // Returns the offset in the file.
  int64_t offset(StreamPosition at) const { return geometry_.offset(at.block) + at.offset; }

  // Makes a block current. The time of sums_at() grows with the distance from the current block.
  void move_to(int64_t block) {
    if (piece_pages_ > 0) sums_at_ = sums_at({block, 0});
    block_ = static_cast<int32_t>(block);
  }
  int64_t block() const { return block_; }
  // Returns the offset in the file of the checksum that covers a position.
  int64_t sums_at(StreamPosition at) const;

  // Fills `out` from position `from`, where that many bytes must exist, across block boundaries. Returns the
  // position after the bytes; at a block boundary, the end of the earlier block. Throws damaged if the file
  // ends inside a block, or if a checksum is wrong. Any number of threads may call it if
  // sizes().in_memory() and none calls move_to().
  StreamPosition read(StreamPosition from, std::span<std::byte> out) const;
  // Reads bytes of a block without verifying them.
  void read_plain(StreamPosition from, std::span<std::byte> out) const {
    const size_t n = file_->read_at(out, offset(from));
    if (n < out.size()) ends_early({from.block, from.offset + static_cast<int64_t>(n)});
  }
  // Reads whole pieces of a block and compares them with their checksums. Takes checksums from `ahead` if it
  // has them; otherwise replaces those in `ahead` by the next ones of the block.
  void read_checked(StreamPosition from, std::span<std::byte> out, SumsAhead& ahead) const;
  // Compares `data`, which were read from `from` on, with their checksums. They consist of whole pieces of a
  // block; only the last may be shorter. Throws damaged.
  void check(StreamPosition from, std::span<const std::byte> data) const;
  // Does the same for one piece of `bytes` bytes that is too large to hold; `sum` is its CRC32C.
  void check_sum(StreamPosition from, uint32_t sum, int64_t bytes) const;
  // Returns the size of the part of a request for `wanted` bytes at `from` that consists of whole pieces; 0
  // if `from` does not begin a piece. `end` is the end of the bytes with checksums in the block.
  int64_t whole_pieces(int64_t from, int64_t wanted, int64_t end) const {
    if (from % piece() != 0) return 0;
    return from + wanted >= end ? end - from : wanted / piece() * piece();
  }
  [[noreturn]] void ends_early(StreamPosition at) const;

 private:
  std::span<const uint32_t> sums_of(StreamPosition from, int64_t bytes, SumsAhead& ahead) const;
  void compare(StreamPosition from, std::span<const std::byte> data, std::span<const uint32_t> sums) const;
  void unlike_sum(StreamPosition from, int64_t bytes) const;

  static constexpr uint32_t page = 4096;  // divides every piece size

  std::shared_ptr<File> file_;
  layout::ChunkGeometry geometry_;
  BlockSizes sizes_;
  int64_t sums_at_ = 0;  // offset in the file of the checksums of block_
  int32_t block_ = 0;
  int32_t local_rank_ = 0;
  uint16_t piece_pages_ = 0;
};

}  // namespace sheaf::multifile

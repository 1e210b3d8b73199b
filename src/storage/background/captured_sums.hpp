// storage/background/captured_sums: checksums of bytes that are captured in order (File::begin_sums).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/crc32c.hpp"
#include "base/error.hpp"

namespace sheaf {

// The CRC32C of every `piece` bytes from `origin` on. Used by one thread at a time.
class CapturedSums {
 public:
  CapturedSums(int64_t origin, uint32_t piece) : origin_(origin), piece_(piece), end_(origin) {}

  // Returns true if bytes at `offset` continue those before. Bytes that replace earlier ones end the sums.
  bool continues(int64_t offset) {
    if (offset >= origin_ && offset < end_) has_all_ = false;
    return offset == end_ && has_all_;
  }
  // Adds bytes that continue those before.
  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const int64_t in_piece = (end_ - origin_) % piece_;
      const auto part = bytes.first(static_cast<size_t>(std::min(piece_ - in_piece, std::ssize(bytes))));
      if (in_piece == 0 && attempt([&] { sums_.push_back(0); })) has_all_ = false;
      if (!has_all_) return;
      sums_.back() = crc32c(sums_.back(), part);
      end_ += std::ssize(part);
      bytes = bytes.subspan(part.size());
    }
  }
  // Counts bytes of a save that is discarded, without a checksum.
  void skip(int64_t bytes) { end_ += bytes; }

  // Stores the checksums of the first `bytes` bytes. Returns false if these are not all bytes, or were not
  // written in order. `result` has room for all of them.
  bool copy(int64_t bytes, std::span<uint32_t> result) const {
    if (!has_all_ || end_ - origin_ != bytes) return false;
    std::ranges::copy(sums_, result.begin());
    return true;
  }

 private:
  const int64_t origin_;
  const uint32_t piece_;             // bytes
  int64_t end_;                      // of the bytes in order
  bool has_all_ = true;              // the bytes were written in order, and there was memory
  std::vector<uint32_t> sums_ = {};  // the last one possibly of a partial piece
};

}  // namespace sheaf

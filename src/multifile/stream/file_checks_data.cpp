// Compares data with their checksums.
#include <algorithm>
#include <array>

#include "base/crc32c.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

static void unlike_sum(File& file, int64_t bytes, const DataPlace& place) {
  if (Watch* const watch = file.traits().watch) watch->require_unchanged();
  throw file_error(Code::damaged, file.path(),
                   "the " + std::to_string(bytes) + " bytes from offset " + std::to_string(place.offset) +
                       " on of block " + std::to_string(place.block) + " of task " +
                       std::to_string(place.task) + " do not match their checksum");
}

void check_piece(File& file, int64_t sum_at, uint32_t sum, int64_t bytes, const DataPlace& place) {
  uint32_t expected = 0;
  read_sums(file, sum_at, std::span(&expected, 1));
  if (sum != expected) unlike_sum(file, bytes, place);
}

void check_pieces(File& file, int64_t sums_at, uint32_t piece, std::span<const std::byte> data,
                  const DataPlace& place) {
  std::array<uint32_t, 256> sums;
  for (int64_t offset = place.offset; !data.empty();) {
    const size_t pieces = (data.size() + piece - 1) / piece;
    const auto some = std::span(sums).first(std::min(sums.size(), pieces));
    read_sums(file, sums_at, some);
    sums_at += static_cast<int64_t>(some.size_bytes());
    for (const uint32_t expected : some) {
      const auto part = data.first(std::min<size_t>(piece, data.size()));
      if (crc32c(0, part) != expected) unlike_sum(file, std::ssize(part), {place.task, place.block, offset});
      data = data.subspan(part.size());
      offset += std::ssize(part);
    }
  }
}

}  // namespace sheaf::multifile

#include "streams/mount/stream_checksum.hpp"

#include <algorithm>
#include <cstdio>

#include "base/crc32c.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::mount {

namespace {

constexpr int64_t sums_at_once = 16 << 10;

}  // namespace

std::optional<std::string> stream_checksum(const multifile::PhysicalFile& file,
                                           const multifile::TaskRow& row) {
  if (row.sums.piece == 0 || file.header.compressed) return {};
  const int64_t piece = row.sums.piece;
  bool all = true;
  uint32_t sum = 0;
  int64_t at = row.sums.at;
  std::vector<uint32_t> some;
  for (const auto [block, bytes] : row.sizes.used()) {
    all = all && bytes <= row.geometry.size;
    for (int64_t left = bytes; all && left > 0;) {
      some.resize(static_cast<size_t>(std::min(sums_at_once, (left + piece - 1) / piece)));
      multifile::read_sums(*file.file, at, some);
      at += static_cast<int64_t>(some.size() * sizeof(uint32_t));
      for (const uint32_t part : some) {
        const int64_t length = std::min(left, piece);
        sum = crc32c_joined(sum, part, length);
        left -= length;
      }
    }
  }
  if (!all) return {};
  char text[32];
  std::snprintf(text, sizeof text, "crc32c:%08x", sum);
  return text;
}

}  // namespace sheaf::mount

#include "multifile/stream/block_reader.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/crc32c.hpp"
#include "format/extension.hpp"
#include "multifile/stream/constants.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

BlockReader::BlockReader(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
                         const SumsPlace& sums)
    : file_(std::move(file)),
      geometry_(geometry),
      sizes_(sizes),
      sums_at_(sums.at),
      local_rank_(sums.local_rank),
      piece_pages_(static_cast<uint16_t>(sums.piece / page)) {}

int64_t BlockReader::sums_at(StreamPosition to) const {
  // Most blocks are full or have one piece. A division per block would dominate the time of a seek over
  // thousands of blocks.
  const int64_t full = 4 * format::sums_of_block(geometry_.size, geometry_.size, piece());
  const auto bytes_of = [&](int64_t size) {
    if (size >= geometry_.size) return full;
    return size <= piece() ? int64_t{size > 0} * 4 : 4 * format::sums_of_block(size, geometry_.size, piece());
  };
  int64_t at = sums_at_ + 4 * (to.offset / piece());
  for (const auto [block, size] : sizes_.used(block_, to.block)) at += bytes_of(size);
  for (const auto [block, size] : sizes_.used(to.block, block_)) at -= bytes_of(size);
  return at;
}

// Returns the checksums of `bytes` bytes from `from` on. Valid until the next change of `ahead`.
std::span<const uint32_t> BlockReader::sums_of(StreamPosition from, int64_t bytes, SumsAhead& ahead) const {
  const int64_t at = sums_at(from);
  const int64_t count = (bytes + piece() - 1) / piece();
  if (at < ahead.at || at + 4 * count > ahead.at + 4 * std::ssize(ahead.sums)) {
    const int64_t left = (checked_size(from.block) - from.offset + piece() - 1) / piece();
    const int64_t fetched = std::min(left, std::max(count, stream_constants::sums_ahead));
    ahead.sums.clear();  // until the read succeeds
    std::vector<uint32_t> sums(static_cast<size_t>(fetched));
    read_sums(*file_, at, sums);
    ahead = {at, std::move(sums)};
  }
  return std::span(ahead.sums).subspan(static_cast<size_t>((at - ahead.at) / 4), static_cast<size_t>(count));
}

void BlockReader::read_checked(StreamPosition from, std::span<std::byte> out, SumsAhead& ahead) const {
  const int64_t at_once = std::max<int64_t>(piece(), stream_constants::checked_at_once / piece() * piece());
  while (!out.empty()) {
    const auto part = out.first(std::min(out.size(), static_cast<size_t>(at_once)));
    const size_t n = file_->read_verified(part, offset(from));
    if (n < part.size()) ends_early({from.block, from.offset + static_cast<int64_t>(n)});
    compare(from, part, sums_of(from, std::ssize(part), ahead));
    from.offset += std::ssize(part);
    out = out.subspan(part.size());
  }
}

void BlockReader::unlike_sum(StreamPosition from, int64_t bytes) const {
  file_->require_unchanged();
  throw file_error(Code::damaged, file_->path(),
                   "the " + std::to_string(bytes) + " bytes from offset " + std::to_string(from.offset) +
                       " on of block " + std::to_string(from.block) + " of task " +
                       std::to_string(local_rank_) + " do not match their checksum");
}

void BlockReader::check_sum(StreamPosition from, uint32_t sum, int64_t bytes) const {
  uint32_t expected = 0;
  read_sums(*file_, sums_at(from), std::span(&expected, 1));
  if (sum != expected) unlike_sum(from, bytes);
}

void BlockReader::check(StreamPosition from, std::span<const std::byte> data) const {
  SumsAhead ahead;
  compare(from, data, sums_of(from, std::ssize(data), ahead));
}

void BlockReader::compare(StreamPosition from, std::span<const std::byte> data,
                          std::span<const uint32_t> sums) const {
  for (const uint32_t expected : sums) {
    const auto part = data.first(std::min<size_t>(piece(), data.size()));
    if (crc32c(0, part) != expected) unlike_sum(from, std::ssize(part));
    data = data.subspan(part.size());
    from.offset += std::ssize(part);
  }
}

StreamPosition BlockReader::read(StreamPosition from, std::span<std::byte> out) const {
  std::vector<std::byte> edge;
  SumsAhead ahead;
  while (!out.empty()) {
    const int64_t size = sizes_[from.block];
    const int64_t checked = checked_size(from.block);
    const int64_t end = from.offset < checked ? checked : size;
    auto part = out.first(static_cast<size_t>(std::min(end - from.offset, std::ssize(out))));
    if (from.offset >= checked) {
      read_plain(from, part);
    } else if (const int64_t whole = whole_pieces(from.offset, std::ssize(part), end); whole > 0) {
      part = part.first(static_cast<size_t>(whole));
      read_checked(from, part, ahead);
    } else {  // only a part of a piece is requested
      const int64_t skipped = from.offset % piece();
      const StreamPosition begin{from.block, from.offset - skipped};
      edge.resize(static_cast<size_t>(std::min<int64_t>(end - begin.offset, piece())));
      read_checked(begin, edge, ahead);
      part = part.first(std::min(part.size(), edge.size() - static_cast<size_t>(skipped)));
      std::memcpy(part.data(), edge.data() + skipped, part.size());
    }
    out = out.subspan(part.size());
    from.offset += std::ssize(part);
    if (from.offset == size && !out.empty()) from = {from.block + 1, 0};
  }
  return from;
}

void BlockReader::ends_early(StreamPosition at) const {
  file_->require_unchanged();
  throw file_error(Code::damaged, file_->path(),
                   "the physical file ends at offset " + std::to_string(offset(at)) + ", inside block " +
                       std::to_string(at.block) + " of the task");
}

}  // namespace sheaf::multifile

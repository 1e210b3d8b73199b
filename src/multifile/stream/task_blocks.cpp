#include "multifile/stream/task_blocks.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "format/extension.hpp"
#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

// Runs `allocate_and_store`. If the allocation fails, all sums of the current block become unknown.
template <class Note>
void TaskBlocks::note(Note&& allocate_and_store) noexcept {
  try {
    allocate_and_store();
  } catch (const std::bad_alloc&) {
    unsummed = 1;
  }
}

void TaskBlocks::sum(std::span<const std::byte> bytes, int64_t ahead) noexcept {
  if (piece == 0) return;
  for (int64_t at = position + ahead; !bytes.empty() && !unsummed;) {
    const int64_t in_piece = at % piece;
    const auto part = bytes.first(static_cast<size_t>(std::min(piece - in_piece, std::ssize(bytes))));
    running = crc32c(in_piece == 0 ? 0 : running, part);
    at += std::ssize(part);
    if (at % piece == 0) note([&] { make_past().sums.push_back(running); });
    bytes = bytes.subspan(part.size());
  }
}

// Ends the checksums of the current block, or marks them as unknown. If an allocation fails, throws and
// leaves the known ones unchanged.
void TaskBlocks::end_sums(int64_t chunk_size) {
  Past& p = make_past();
  const int64_t pieces = format::sums_of_block(high, chunk_size, piece);
  const bool known = !unsummed && position == high;
  if (!known) p.unknown.push_back({count() - 1, 0, pieces});
  p.sums.resize(static_cast<size_t>(p.current_sums + pieces));
  if (known && std::min(high, chunk_size) % piece != 0) p.sums.back() = running;
}

void TaskBlocks::finish_block(int64_t chunk_size) {
  SHEAF_ASSERT(position <= high);  // blocks of other programs may be larger than their chunk
  Past& p = make_past();
  if (const size_t blocks = p.finished.size(); blocks == p.finished.capacity())
    p.finished.reserve(2 * blocks + 1);
  if (piece > 0) {
    end_sums(chunk_size);
    p.current_sums = std::ssize(p.sums);
    unsummed = 0;
  }
  p.finished.push_back(high);
  position = high = 0;
  running = 0;
}

void TaskBlocks::return_to(int64_t block, int64_t to, int64_t highest, int64_t chunk_size) noexcept {
  SHEAF_ASSERT(block >= 0 && block < count() && to >= 0 && to <= highest);
  const bool left = block + 1 < count();
  const bool moves = left || to != position;
  if (past && moves) {
    Past& p = *past;
    const auto unknown_from_begin = [&](const Pieces& u) { return u.block == block && u.first == 0; };
    if (left) unsummed = std::ranges::any_of(p.unknown, unknown_from_begin);
    p.finished.resize(static_cast<size_t>(block));
    if (piece > 0) forget_behind(block, to, chunk_size);
  }
  if (piece > 0 && moves && to % piece != 0)
    note([&] { make_past().unknown.push_back({block, to / piece, to / piece + 1}); });
  position = to;
  high = highest;
}

int64_t TaskBlocks::sums_before(int64_t block, int64_t chunk_size) const {
  int64_t sums = 0;
  for (int64_t b = 0; b < block; ++b) sums += format::sums_of_block(size_of(b), chunk_size, piece);
  return sums;
}

// Discards the checksums of pieces that do not end before `to` in `block`, the current block. Allocates
// nothing: if all sums of the block are unknown, fewer may be there.
void TaskBlocks::forget_behind(int64_t block, int64_t to, int64_t chunk_size) {
  Past& p = *past;
  const int64_t whole = to / piece;
  p.current_sums = sums_before(block, chunk_size);
  p.sums.resize(std::min(p.sums.size(), static_cast<size_t>(p.current_sums + whole)));
  std::erase_if(p.unknown,
                [&](const Pieces& u) { return u.block > block || (u.block == block && u.first >= whole); });
  for (Pieces& u : p.unknown)
    if (u.block == block) u.last = std::min(u.last, whole);
}

void TaskBlocks::continue_behind(std::span<const int64_t> sizes, std::vector<uint32_t> sums) {
  position = high = sizes.back();
  if (sizes.size() > 1) make_past().finished.assign(sizes.begin(), sizes.end() - 1);
  if (piece == 0) return;
  Past& p = make_past();
  p.current_sums = std::ssize(sums) - position / piece;
  p.sums = std::move(sums);
}

std::vector<uint32_t> TaskBlocks::take_sums(File& file, const layout::ChunkGeometry& geometry) {
  if (piece == 0) return {};
  if (!past && !unsummed) return std::vector<uint32_t>(std::min(high, geometry.size) > 0 ? 1 : 0, running);
  end_sums(geometry.size);
  Past& p = *past;
  std::vector<uint32_t> sums = std::move(p.sums);
  int64_t block = 0;
  int64_t begin = 0;  // index of the block's first checksum
  std::ranges::sort(p.unknown, {}, &Pieces::block);
  for (const Pieces& u : p.unknown) {
    for (; block < u.block; ++block) begin += format::sums_of_block(size_of(block), geometry.size, piece);
    const int64_t size = std::min(size_of(block), geometry.size);
    const int64_t end = std::min(u.last, format::sums_of_block(size, geometry.size, piece));
    if (u.first >= end) continue;
    const auto wanted =
        std::span(sums).subspan(static_cast<size_t>(begin + u.first), static_cast<size_t>(end - u.first));
    if (u.first == 0 && file.take_sums(geometry.offset(block), std::min(size, end * piece), wanted)) continue;
    const int64_t from = u.first * piece;
    sum_pieces(file, geometry.offset(block) + from, size - from, piece, wanted);
  }
  return sums;
}

std::optional<int64_t> TaskBlocks::find_sums(const Pieces& pieces, int64_t chunk_size) const {
  if (piece == 0) return std::nullopt;
  if (!past) return pieces.first;
  const auto overlaps = [&](const Pieces& u) {
    return u.block == pieces.block && u.first < pieces.last && pieces.first < u.last;
  };
  if (std::ranges::any_of(past->unknown, overlaps)) return std::nullopt;
  return sums_before(pieces.block, chunk_size) + pieces.first;
}

void sum_pieces(File& file, int64_t offset, int64_t bytes, uint32_t piece, std::span<uint32_t> sums) {
  const int64_t at_once = std::max<int64_t>(1, stream_constants::compared_at_once / piece) * piece;
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(at_once, bytes)));
  for (size_t next = 0; next < sums.size();) {
    auto data = std::span(buffer).first(static_cast<size_t>(std::min(at_once, bytes)));
    // Bytes beyond the end of the file count as zeros. They become zeros when the block table, which follows
    // them, is written.
    const size_t found = file.read_at(data, offset);
    if (found < data.size() && file.status().size > offset + static_cast<int64_t>(found))
      throw Error(Code::io, "'" + file.path() + "': reading ended at offset " +
                                std::to_string(offset + static_cast<int64_t>(found)) +
                                ", where the file does not");
    std::ranges::fill(data.subspan(found), std::byte{});
    offset += std::ssize(data);
    bytes -= std::ssize(data);
    for (; !data.empty() && next < sums.size(); ++next) {
      const auto part = data.first(std::min<size_t>(piece, data.size()));
      sums[next] = crc32c(0, part);
      data = data.subspan(part.size());
    }
  }
}

void append_row(std::vector<std::byte>& rows, int64_t row, const TaskBlocks& blocks, bool may_have_journal,
                std::span<const uint32_t> sums, int64_t max_sums) {
  const auto append = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    rows.insert(rows.end(), bytes.begin(), bytes.end());
  };
  const int64_t count = blocks.count();
  const bool here = std::ssize(sums) <= max_sums;
  if (rows.empty())  // reserves exactly one row, because most processes have one task
    rows.reserve(static_cast<size_t>(8 * (3 + count)) + (here ? sums.size_bytes() : 0));
  append(std::array{row, 2 * count + may_have_journal, here ? std::ssize(sums) : ~std::ssize(sums)});
  for (int64_t b = 0; b < count; ++b) append(std::array{blocks.size_of(b)});
  if (here) append(sums);
}

}  // namespace sheaf::multifile

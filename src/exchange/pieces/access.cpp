#include "exchange/pieces/access.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "exchange/pieces/constants.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

using layout::Blocks;
using layout::EqualBlocks;
using layout::Run;
using layout::TypeMap;

// Calls body(length). Passes common lengths as compile-time constants, so that copies of these lengths become
// a few moves.
using Constants = std::index_sequence<1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 128>;
template <class Body, size_t first, size_t... others>
void with_constant(size_t length, Body body, std::index_sequence<first, others...>) {
  if (length == first) return body(std::integral_constant<size_t, first>());
  if constexpr (sizeof...(others) > 0) {
    with_constant(length, body, std::index_sequence<others...>());
  } else {
    body(length);
  }
}

// Copies a stream to the extents of a type (if `scatters`), or the extents to the stream.
template <bool scatters>
class PieceMover final : public layout::PieceVisitor {
 public:
  using StreamByte = std::conditional_t<scatters, const std::byte, std::byte>;
  using MemoryByte = std::conditional_t<scatters, std::byte, const std::byte>;

  PieceMover(StreamByte* stream, MemoryByte* at) : stream_(stream), at_(at) {}

  void run(const Run& run) override {
    if (run.count == 1) return move(run.offset, static_cast<size_t>(run.length));
    const auto move_all = [&](auto length) {
      int64_t offset = run.offset;
      for (int64_t i = 0; i < run.count; ++i, offset += run.stride) move(offset, length);
    };
    with_constant(static_cast<size_t>(run.length), move_all, Constants());
  }
  void equal(const EqualBlocks& blocks) override {
    const auto move_all = [&](auto length) {
      for (const int64_t offset : blocks.offsets) move(blocks.base + offset, length);
    };
    with_constant(static_cast<size_t>(blocks.length), move_all, Constants());
  }
  void blocks(const Blocks& blocks) override {
    for (size_t i = 0; i < blocks.offsets.size(); ++i)
      move(blocks.base + blocks.offsets[i], static_cast<size_t>(blocks.starts[i + 1] - blocks.starts[i]));
  }

 private:
  // `Length` may be a compile-time constant, so that memcpy is inlined.
  template <class Length>
  void move(int64_t offset, Length length) {
    if constexpr (scatters) {
      std::memcpy(at_ + offset, stream_, length);
    } else {
      std::memcpy(stream_, at_ + offset, length);
    }
    stream_ += length;
  }

  StreamByte* stream_;
  MemoryByte* const at_;
};

}  // namespace

void scatter(const TypeMap& type, int64_t from, int64_t to, const std::byte* stream, std::byte* at) {
  PieceMover<true> mover(stream, at);
  type.visit(0, from, to, mover);
}

void gather(const TypeMap& type, int64_t from, int64_t to, const std::byte* at, std::byte* stream) {
  PieceMover<false> mover(stream, at);
  type.visit(0, from, to, mover);
}

const TypeMap& contiguous_bytes() {
  static const TypeMap map = TypeMap::bytes(1);
  return map;
}

int64_t FileAccess::pieces() const {
  if (to <= from) return 0;
  if (filetype->is_contiguous()) return 1;
  const auto share = static_cast<double>(bytes()) / static_cast<double>(filetype->size());
  return std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(filetype->pieces())));
}

bool FileAccess::has_whole_units(int64_t unit) const {
  SHEAF_DEBUG_ASSERT(bytes() > 0 && unit > 0);
  if (bytes() / pieces() < unit) return false;
  bool whole = true;
  layout::for_each_piece(*filetype, displacement, from, to, [&](int64_t offset, int64_t length) {
    whole = whole && offset % unit == 0 && length % unit == 0;
  });
  return whole;
}

std::byte* FileAccess::contiguous(int64_t position) const {
  const bool one_piece =
      memory->pieces() <= 1 && (memory->size() == memory->extent() || memory->size() >= bytes());
  return one_piece && memory->size() > 0 ? address + memory->offset_of(0) + (position - from) : nullptr;
}

void pack(const FileAccess& access, int64_t from, int64_t to, std::byte* out) {
  gather(*access.memory, from - access.from, to - access.from, access.address, out);
}

void unpack(const FileAccess& access, int64_t from, int64_t to, const std::byte* in) {
  if (from < to) scatter(*access.memory, from - access.from, to - access.from, in, access.address);
}

void pack_window(const FileAccess& access, int64_t from, int64_t to, std::byte* window,
                 int64_t window_offset) {
  SHEAF_DEBUG_ASSERT(access.from <= from && from <= to && to <= access.to);
  std::byte* const at = window + (access.displacement - window_offset);
  if (const std::byte* const stream = access.contiguous(from))
    return scatter(*access.filetype, from, to, stream, at);
  std::array<std::byte, mover_bytes> chunk;
  for (; from < to; from += mover_bytes) {
    const int64_t end = std::min(to, from + mover_bytes);
    pack(access, from, end, chunk.data());
    scatter(*access.filetype, from, end, chunk.data(), at);
  }
}

void take_pieces(const FileAccess& access, int64_t from, int64_t to, const std::byte* window,
                 int64_t window_offset) {
  SHEAF_DEBUG_ASSERT(access.from <= from && from <= to && to <= access.to);
  const std::byte* const at = window + (access.displacement - window_offset);
  if (std::byte* const stream = access.contiguous(from))
    return gather(*access.filetype, from, to, at, stream);
  std::array<std::byte, mover_bytes> chunk;
  for (; from < to; from += mover_bytes) {
    const int64_t end = std::min(to, from + mover_bytes);
    gather(*access.filetype, from, end, at, chunk.data());
    unpack(access, from, end, chunk.data());
  }
}

}  // namespace sheaf::exchange

#include "exchange/transfer/independent.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/extent.hpp"
#include "exchange/pieces/constants.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

// Merges adjacent extents into requests and calls request(offset, stream position, length) for each of them,
// until a call returns false. Returns the result of the last call.
template <class Request>
bool in_requests(const FileAccess& access, int64_t from, int64_t to, Request request) {
  bool going = true;
  int64_t next = from;  // position in the stream
  int64_t begin = 0;    // file offset of the pending request
  int64_t length = 0;
  const auto finish = [&] {
    if (length > 0 && going) going = request(begin, next - length, length);
    length = 0;
  };
  layout::for_each_piece(*access.filetype, access.displacement, from, to, [&](int64_t offset, int64_t bytes) {
    if (offset != begin + length) finish();
    if (length == 0) begin = offset;
    length += bytes;
    next += bytes;
  });
  finish();
  return going;
}

// Calls put(range) for the ranges of the file that a read-modify-write of stream positions [from, to)
// writes back: the extents, with the gaps that contain no whole block.
template <class Put>
void in_sieved_ranges(const FileAccess& access, int64_t from, int64_t to, Put put) {
  Extent range;
  layout::for_each_piece(*access.filetype, access.displacement, from, to, [&](int64_t offset, int64_t bytes) {
    if (range.length > 0 && contains_block(range.end(), offset)) {
      put(range);
      range.length = 0;
    }
    range = Extent::between(range.length > 0 ? range.offset : offset, offset + bytes);
  });
  put(range);
}

bool sieves(const FileAccess& access, const IndependentOptions& how, int64_t worth) {
  if (how.sieving == Sieving::disabled || !access.filetype->is_ordered()) return false;
  const int64_t pieces = access.pieces();
  if (pieces < 2) return false;
  return how.sieving == Sieving::enabled || (access.high() - access.low()) / pieces < worth;
}

// Splits the access into file windows of at most how.buffer bytes. Calls use(from, to, offset, window) with
// the stream positions of the window, its file offset and memory for its bytes. Stops when `use` returns
// false.
template <class Use>
void in_windows(const FileAccess& access, int64_t to, const IndependentOptions& how, Use use) {
  LineBytes memory(static_cast<size_t>(std::min(how.buffer, access.high() - access.low())));
  for (int64_t from = access.from, end = 0; from < to; from = end) {
    const int64_t low = access.offset_of(from);
    end = std::min(access.position_at(low + how.buffer), to);
    const int64_t high = access.offset_of(end - 1) + 1;
    if (!use(from, end, low, std::span(memory).first(static_cast<size_t>(high - low)))) return;
  }
}

// Maximum bytes of a part of a transfer, from or to contiguous memory and packed memory.
struct PartSizes {
  int64_t contiguous, packed;
};

// Splits stream positions [from, end) into parts. Calls move(from, to, stream, packs) for each, where
// `stream` is the memory of the part; it is packed memory if `packs` is true. move() returns the position up
// to which it has moved bytes. Stops at a short move. Returns the last position.
template <class Move>
int64_t in_parts(const FileAccess& access, int64_t from, int64_t end, const PartSizes& sizes, Move move) {
  std::byte* const memory = access.contiguous(access.from);
  LineBytes packed(memory ? 0 : static_cast<size_t>(std::min(end - from, sizes.packed)));
  const int64_t step = memory ? sizes.contiguous : sizes.packed;
  int64_t done = from;
  for (; from < end && done == from; from += step) {
    std::byte* const stream = memory ? memory + (from - access.from) : packed.data();
    done = move(from, std::min(end, from + step), stream, !memory);
  }
  return done;
}

// Calls write(from, to, stream) for parts of stream positions [from, end).
template <class Write>
void write_parts(const FileAccess& access, int64_t from, int64_t end, const PartSizes& sizes, Write write) {
  in_parts(access, from, end, sizes, [&](int64_t begin, int64_t to, std::byte* stream, bool packs) {
    if (packs) pack(access, begin, to, stream);
    write(begin, to, stream);
    return to;
  });
}

// Calls read(from, to, stream) for parts of the stream up to `end`. Returns the bytes read.
template <class Read>
int64_t read_parts(const FileAccess& access, int64_t end, const PartSizes& sizes, Read read) {
  const auto read_part = [&](int64_t from, int64_t to, std::byte* stream, bool packs) {
    const int64_t done = read(from, to, stream);
    if (packs) unpack(access, from, done, stream);
    return done;
  };
  return in_parts(access, access.from, end, sizes, read_part) - access.from;
}

// Writes stream positions [from, to) with one request per extent.
void write_direct(File& file, const FileAccess& access, int64_t from, int64_t to, IoCounters& counters) {
  write_parts(access, from, to, {to - from, packed_bytes},
              [&](int64_t begin, int64_t end, const std::byte* stream) {
                in_requests(access, begin, end, [&](int64_t offset, int64_t position, int64_t length) {
                  put(file, {stream + (position - begin), static_cast<size_t>(length)}, offset, counters);
                  return true;
                });
              });
}

int64_t read_direct(File& file, const FileAccess& access, IoCounters& counters) {
  const auto read = [&](int64_t from, int64_t to, std::byte* stream) {
    int64_t done = from;
    in_requests(access, from, to, [&](int64_t offset, int64_t position, int64_t length) {
      const std::span data(stream + (position - from), static_cast<size_t>(length));
      const size_t got = get(file, data, offset, counters);
      done = position + static_cast<int64_t>(got);
      return got == data.size();
    });
    return done;
  };
  ++counters.direct_calls;
  return read_parts(access, access.to, {access.bytes(), packed_bytes}, read);
}

void write_sieved(File& file, const FileAccess& access, const IndependentOptions& how, IoCounters& counters) {
  ++counters.sieve_calls;
  in_windows(access, access.to, how,
             [&](int64_t from, int64_t to, int64_t offset, std::span<std::byte> window) {
               const int64_t length = std::ssize(window);
               const bool full = to - from == length;
               const auto fill_and_put = [&] {
                 pack_window(access, from, to, window.data(), offset);
                 if (full) return put(file, window, offset, counters);
                 in_sieved_ranges(access, from, to, [&](const Extent& range) {
                   put(file, window.subspan(range.offset - offset, range.length), range.offset, counters);
                 });
               };
               RangeLock lock;
               if (!how.locked && !full) lock = file.lock(offset, length, true, OnConflict::report);
               if (how.locked || lock) {
                 if (!full) {
                   const size_t got = get(file, window, offset, counters);
                   std::ranges::fill(window.subspan(got), std::byte());
                 }
                 fill_and_put();
               } else if (full) {
                 while_shared(file, offset, length, fill_and_put);
               } else {
                 while_shared(file, offset, length, [&] { write_direct(file, access, from, to, counters); });
               }
               return true;
             });
}

int64_t read_sieved(File& file, const FileAccess& access, const IndependentOptions& how,
                    IoCounters& counters) {
  ++counters.sieve_calls;
  int64_t done = access.from;
  in_windows(access, access.position_at(file.status().size), how,
             [&](int64_t from, int64_t to, int64_t offset, std::span<std::byte> window) {
               const size_t got = get(file, window, offset, counters);
               done = got == window.size()
                          ? to
                          : std::min(to, access.position_at(offset + static_cast<int64_t>(got)));
               take_pieces(access, from, done, window.data(), offset);
               return done == to;
             });
  return done - access.from;
}

// Returns the segments of stream positions [from, to); their bytes are contiguous in `memory`.
template <class Byte>
std::vector<Piece<Byte>> pieces_of(const FileAccess& access, int64_t from, int64_t to, Byte* memory) {
  std::vector<Piece<Byte>> pieces;
  in_requests(access, from, to, [&](int64_t offset, int64_t position, int64_t length) {
    pieces.push_back({offset, {memory + (position - from), static_cast<size_t>(length)}});
    return true;
  });
  return pieces;
}

// Returns the sizes of the parts into which an access is split, so that segment lists stay small. A single
// extent is one part.
PartSizes scattered_parts(const FileAccess& access) {
  return {access.pieces() == 1 ? access.bytes() : scattered_bytes, scattered_bytes};
}

void write_scattered(File& file, const FileAccess& access, IoCounters& counters) {
  ++counters.direct_calls;
  write_parts(access, access.from, access.to, scattered_parts(access),
              [&](int64_t from, int64_t to, const std::byte* stream) {
                write_segments(file, pieces_of(access, from, to, stream), counters);
              });
}

int64_t read_scattered(File& file, const FileAccess& access, IoCounters& counters) {
  const auto read = [&](int64_t from, int64_t to, std::byte* stream) {
    const ScopedTimer clock(counters.file_ns);
    ++counters.requests;
    file.read_pieces(pieces_of(access, from, to, stream));
    counters.file_bytes_read += to - from;
    return to;
  };
  ++counters.direct_calls;
  return read_parts(access, access.position_at(file.status().size), scattered_parts(access), read);
}

}  // namespace

void write_segments(File& file, std::span<const Piece<const std::byte>> pieces, IoCounters& counters) {
  if (pieces.empty()) return;
  const ScopedTimer clock(counters.file_ns);
  for (const auto& piece : pieces) counters.file_bytes_written += std::ssize(piece.memory);
  counters.requests += file.traits().dear_requests ? 1 : std::ssize(pieces);
  file.write_pieces(pieces);
}

void put(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& counters) {
  const ScopedTimer clock(counters.file_ns);
  ++counters.requests;
  file.write_at(data, offset);
  counters.file_bytes_written += std::ssize(data);
}

void put_shared(File& file, std::span<const std::byte> data, int64_t offset, IoCounters& counters) {
  const auto write = [&] { put(file, data, offset, counters); };
  if (offset % sieve_block == 0 && std::ssize(data) % sieve_block == 0) return write();
  while_shared(file, offset, std::ssize(data), write);
}

size_t get(File& file, std::span<std::byte> data, int64_t offset, IoCounters& counters) {
  const ScopedTimer clock(counters.file_ns);
  ++counters.requests;
  const size_t got = file.read_at(data, offset);
  counters.file_bytes_read += static_cast<int64_t>(got);
  return got;
}

void independent_write(File& file, const FileAccess& access, const IndependentOptions& how,
                       IoCounters& counters) {
  if (access.bytes() <= 0) return;
  SHEAF_DEBUG_ASSERT(access.filetype->is_ordered());
  SHEAF_DEBUG_ASSERT(!how.publishes || file.traits().own_caches);
  RangeLock lock;
  if (how.locked) lock = file.lock(access.low(), access.high() - access.low(), true);
  if (file.traits().written_as_pieces()) {
    write_scattered(file, access, counters);
    if (how.publishes) file.publish();
    return;
  }
  if (sieves(access, how, bytes_per_write)) return write_sieved(file, access, how, counters);
  ++counters.direct_calls;
  const auto write = [&] { write_direct(file, access, access.from, access.to, counters); };
  if (how.locked || access.has_whole_units(sieve_block)) return write();
  while_shared(file, access.low(), access.high() - access.low(), write);
}

int64_t independent_read(File& file, const FileAccess& access, const IndependentOptions& how,
                         IoCounters& counters) {
  if (access.bytes() <= 0) return 0;
  SHEAF_DEBUG_ASSERT(access.filetype->is_ordered(true));
  RangeLock lock;
  if (how.locked) lock = file.lock(access.low(), access.high() - access.low(), false);
  if (file.traits().dear_requests && access.filetype->is_ordered())
    return read_scattered(file, access, counters);
  if (sieves(access, how, bytes_per_read)) return read_sieved(file, access, how, counters);
  return read_direct(file, access, counters);
}

}  // namespace sheaf::exchange

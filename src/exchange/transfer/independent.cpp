#include "exchange/transfer/independent.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/transfer/hosts_file.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

// Neighbouring pieces in one request: request(offset, stream position, length), as long as it returns true.
// The result is that of the last call.
template <class Request>
bool in_requests(const ViewAccess& access, int64_t from, int64_t to, Request request) {
  bool going = true;
  int64_t next = from;  // position in the stream
  int64_t begin = 0;    // of the request in the file
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

bool sieves(const ViewAccess& access, const IndependentOptions& how, int64_t worth) {
  if (how.sieving == Sieving::never || !access.filetype->is_ordered()) return false;
  const int64_t pieces = access.pieces();
  if (pieces < 2) return false;
  return how.sieving == Sieving::always || (access.high() - access.low()) / pieces < worth;
}

// Windows of the file that hold pieces: use(from, to, offset, length) with the stream positions in each and
// its first byte. `use` returns false to end.
template <class Use>
void in_windows(const ViewAccess& access, int64_t from, int64_t to, int64_t buffer, Use use) {
  while (from < to) {
    const int64_t low = access.offset_of(from);
    const int64_t end = std::min(access.position_at(low + buffer), to);
    const int64_t high = access.offset_of(end - 1) + 1;
    if (!use(from, end, low, high - low)) return;
    from = end;
  }
}

// Stream positions [from, to), piece by piece.
void write_direct(File& file, const ViewAccess& access, int64_t from, int64_t to, Tally& tally) {
  const std::byte* const memory = access.contiguous(from);
  LineBytes packed(memory ? 0 : static_cast<size_t>(std::min(to - from, packed_bytes)));
  const int64_t step = memory ? to - from : packed_bytes;
  for (; from < to; from += step) {
    const int64_t end = std::min(to, from + step);
    if (!memory) pack(access, from, end, packed.data());
    const std::byte* const stream = memory ? memory : packed.data();
    in_requests(access, from, end, [&](int64_t offset, int64_t position, int64_t length) {
      put(file, {stream + (position - from), static_cast<size_t>(length)}, offset, tally);
      return true;
    });
  }
}

void write_sieved(File& file, const ViewAccess& access, const IndependentOptions& how, Tally& tally) {
  ++tally.sieve_calls;
  LineBytes memory(static_cast<size_t>(std::min(how.buffer, access.high() - access.low())));
  in_windows(access, access.from, access.to, how.buffer,
             [&](int64_t from, int64_t to, int64_t offset, int64_t length) {
               const auto window = std::span(memory).first(static_cast<size_t>(length));
               const auto fill_and_put = [&] {
                 put_pieces(access, from, to, window.data(), offset);
                 put(file, window, offset, tally);
               };
               const bool full = to - from == length;
               if (full) {
                 how.locked ? fill_and_put() : while_shared(file, offset, length, fill_and_put);
                 return true;
               }
               RangeLock lock;
               if (!how.locked) lock = file.lock(offset, length, true, Barred::tell);
               if (!how.locked && !lock) {
                 while_shared(file, offset, length, [&] { write_direct(file, access, from, to, tally); });
                 return true;
               }
               const size_t got = get(file, window, offset, tally);
               std::ranges::fill(window.subspan(got), std::byte());
               fill_and_put();
               return true;
             });
}

int64_t read_sieved(File& file, const ViewAccess& access, int64_t to_end, const IndependentOptions& how,
                    Tally& tally) {
  ++tally.sieve_calls;
  LineBytes memory(static_cast<size_t>(std::min(how.buffer, access.high() - access.low())));
  int64_t done = access.from;
  in_windows(
      access, access.from, to_end, how.buffer, [&](int64_t from, int64_t to, int64_t offset, int64_t length) {
        const size_t got = get(file, std::span(memory).first(static_cast<size_t>(length)), offset, tally);
        done = static_cast<int64_t>(got) == length
                   ? to
                   : std::min(to, access.position_at(offset + static_cast<int64_t>(got)));
        take_pieces(access, from, done, memory.data(), offset);
        return done == to;
      });
  return done - access.from;
}

// All pieces of stream positions [from, to) that lie in `memory` one behind the other.
template <class Byte>
std::vector<Piece<Byte>> pieces_of(const ViewAccess& access, int64_t from, int64_t to, Byte* memory) {
  std::vector<Piece<Byte>> pieces;
  in_requests(access, from, to, [&](int64_t offset, int64_t position, int64_t length) {
    pieces.push_back({offset, {memory + (position - from), static_cast<size_t>(length)}});
    return true;
  });
  return pieces;
}

// Calls move(from, to, stream, packed) for parts of the stream positions up to `end` and their bytes in
// memory, so long that the lists of their pieces and what is packed stay small; one part for a single piece.
template <class Move>
void in_parts(const ViewAccess& access, int64_t end, Move move) {
  std::byte* const memory = access.contiguous(access.from);
  LineBytes packed(memory ? 0 : static_cast<size_t>(std::min(access.bytes(), scattered_bytes)));
  const int64_t step = memory && access.pieces() == 1 ? access.bytes() : scattered_bytes;
  for (int64_t from = access.from; from < end; from += step)
    move(from, std::min(end, from + step), memory ? memory + (from - access.from) : packed.data(), !memory);
}

void write_scattered(File& file, const ViewAccess& access, Tally& tally) {
  ++tally.direct_calls;
  in_parts(access, access.to, [&](int64_t from, int64_t to, std::byte* stream, bool packed) {
    if (packed) pack(access, from, to, stream);
    put_pieces(file, pieces_of<const std::byte>(access, from, to, stream), tally);
  });
}

int64_t read_scattered(File& file, const ViewAccess& access, Tally& tally) {
  ++tally.direct_calls;
  const int64_t end = std::min(access.to, access.position_at(file.status().size));
  in_parts(access, end, [&](int64_t from, int64_t to, std::byte* stream, bool packed) {
    {
      const Clock clock(tally.file_ns);
      ++tally.requests;
      file.read_pieces(pieces_of(access, from, to, stream));
      tally.file_bytes_read += to - from;
    }
    if (packed) unpack(access, from, to, stream);
  });
  return std::max<int64_t>(end - access.from, 0);
}

}  // namespace

void put_pieces(File& file, std::span<const Piece<const std::byte>> pieces, Tally& tally) {
  if (pieces.empty()) return;
  const Clock clock(tally.file_ns);
  for (const auto& piece : pieces) tally.file_bytes_written += std::ssize(piece.memory);
  tally.requests += file.traits().dear_requests ? 1 : std::ssize(pieces);
  file.write_pieces(pieces);
}

void put(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally) {
  const Clock clock(tally.file_ns);
  ++tally.requests;
  file.write_at(data, offset);
  tally.file_bytes_written += std::ssize(data);
}

void put_shared(File& file, std::span<const std::byte> data, int64_t offset, Tally& tally) {
  while_shared(file, offset, std::ssize(data), [&] { put(file, data, offset, tally); });
}

size_t get(File& file, std::span<std::byte> data, int64_t offset, Tally& tally) {
  const Clock clock(tally.file_ns);
  ++tally.requests;
  const size_t got = file.read_at(data, offset);
  tally.file_bytes_read += static_cast<int64_t>(got);
  return got;
}

void write_independent(File& file, const ViewAccess& access, const IndependentOptions& how, Tally& tally) {
  if (access.bytes() <= 0) return;
  std::shared_lock<std::shared_mutex> writing;
  Published* const apart = file.traits().apart;
  if (apart) {
    writing = std::shared_lock(apart->writers());
    apart->change();
  }
  if (file.traits().written_as_pieces()) {
    write_scattered(file, access, tally);
    if (how.locked || (apart && apart->at_once())) to_server(file);
    return;
  }
  if (sieves(access, how, bytes_per_write)) return write_sieved(file, access, how, tally);
  ++tally.direct_calls;
  const auto write = [&] { write_direct(file, access, access.from, access.to, tally); };
  if (how.locked) return write();
  while_shared(file, access.low(), access.high() - access.low(), write);
}

int64_t read_independent(File& file, const ViewAccess& access, const IndependentOptions& how, Tally& tally) {
  if (access.bytes() <= 0) return 0;
  if (!how.locked) look_if_needed(file);
  if (file.traits().dear_requests && access.filetype->is_ordered())
    return read_scattered(file, access, tally);
  if (sieves(access, how, bytes_per_read)) {
    const int64_t end = access.position_at(file.status().size);
    return read_sieved(file, access, end, how, tally);
  }
  ++tally.direct_calls;
  std::byte* const memory = access.contiguous(access.from);
  LineBytes packed(memory ? 0 : static_cast<size_t>(std::min(access.bytes(), packed_bytes)));
  const int64_t step = memory ? access.bytes() : packed_bytes;
  int64_t done = access.from;
  for (int64_t from = access.from; from < access.to && done == from; from += step) {
    const int64_t to = std::min(access.to, from + step);
    std::byte* const stream = memory ? memory + (from - access.from) : packed.data();
    in_requests(access, from, to, [&](int64_t offset, int64_t position, int64_t length) {
      const std::span data(stream + (position - from), static_cast<size_t>(length));
      const size_t got = get(file, data, offset, tally);
      done = position + static_cast<int64_t>(got);
      return static_cast<int64_t>(got) == length;
    });
    if (!memory) unpack(access, from, done, packed.data());
  }
  return done - access.from;
}

}  // namespace sheaf::exchange

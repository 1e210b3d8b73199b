#include "streams/container/host_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "streams/container/constants.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

using format::ContainerRecord;
using format::RecordKind;

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

int64_t total_of(std::span<const std::span<const std::byte>> parts) {
  int64_t total = 0;
  for (const auto& part : parts) total = must_fit(checked_add(total, std::ssize(part)), "a request");
  return total;
}

}  // namespace

HostStream::HostStream(std::shared_ptr<OpenSet> set, SharedPlace at, bool writable)
    : set_(std::move(set)),
      streams_(set_->streams()),
      at_(at),
      stream_(streams_.stream(at)),
      writable_(writable) {
  streams_.open(at_);
  noted_ = set_->note_open(at_);
}

HostStream::~HostStream() {
  try {
    if (has_written_) flush();
  } catch (const std::exception&) {
  }
  set_->note_close(noted_);
  std::vector<UnusedBytes> unused;
  {
    const SharedStreams::NamesLock lock(streams_);
    if (stream_.entry.load() == 0 && stream_.opens.load() == 1) unused = set_->unused(stream_, 0);
    streams_.close(at_);
  }
  set_->discard(unused);
}

void HostStream::require_writable() const {
  if (!writable_) throw os_error("a stream is not open for writing in", set_->file().path(), EBADF);
}

// --- Places of the pieces.

void HostStream::look() {
  require_here();
  const uint64_t version = stream_.version.load();
  if (version != version_) {
    pieces_.clear();
    seen_ = 0;
    version_ = version;
    growth_ = stream_.growth.load();
  }
  const auto take = [&](SharedPlace at) {
    const SharedPiece& piece = streams_.piece(at);
    pieces_.put(piece.offset, {.length = piece.length.load(), .place = piece.place, .tag = at});
  };
  if (growth_ != stream_.growth.load()) {
    for (SharedPlace at = stream_.first.load(); at != 0 && seen_ != 0; at = streams_.piece(at).next.load()) {
      if (streams_.piece(at).record != 0) take(at);
      if (at == seen_) break;
    }
    growth_ = stream_.growth.load();
  }
  SharedPlace at = seen_ == 0 ? stream_.first.load() : streams_.piece(seen_).next.load();
  for (; at != 0; at = streams_.piece(at).next.load()) {
    take(at);
    seen_ = at;
  }
}

// --- Writing.

// Writes bytes [done, done + bytes) of the concatenated parts.
void HostStream::put(WriteParts parts, int64_t done, int64_t bytes, int64_t place) {
  if (parts.size() == 1)
    return set_->file().write_at(parts[0].subspan(static_cast<size_t>(done), static_cast<size_t>(bytes)),
                                 place);
  std::vector<Piece<const std::byte>> pieces;
  for (auto part : parts) {
    const auto skipped = static_cast<size_t>(std::min(done, std::ssize(part)));
    part = part.subspan(
        skipped, static_cast<size_t>(std::min(bytes, std::ssize(part) - static_cast<int64_t>(skipped))));
    done -= static_cast<int64_t>(skipped);
    bytes -= std::ssize(part);
    if (!part.empty()) pieces.push_back({place, part});
    place += std::ssize(part);
  }
  set_->file().write_pieces(pieces);
}

// Returns bytes [done, done + bytes) of the concatenated parts in one buffer.
std::vector<std::byte> HostStream::gathered(WriteParts parts, int64_t done, int64_t bytes) {
  std::vector<std::byte> all;
  for (const auto& part : parts) {
    const int64_t skipped = std::min(done, std::ssize(part));
    const int64_t taken = std::min(bytes - std::ssize(all), std::ssize(part) - skipped);
    const auto begin = part.begin() + skipped;
    all.insert(all.end(), begin, begin + taken);
    done -= skipped;
  }
  return all;
}

void HostStream::has_written(int64_t end, int64_t time) {
  if (end > stream_.size.load()) stream_.size.store(end, std::memory_order_release);
  stream_.modified.store(time);
  stream_.changed.store(time);
}

int64_t HostStream::write_over(WriteParts parts, int64_t done, int64_t bytes,
                               const layout::StreamPiece& piece) {
  const SharedPiece& shared = streams_.piece(piece.tag);
  const auto write = [&] { put(parts, done, bytes, piece.place); };
  set_->sums().overwrite({.sums = piece.tag + offsetof(SharedPiece, sums),
                          .length = shared.record == 0 ? 0 : shared.length.load(),
                          .place = piece.place},
                         stream_.over, parts, done, bytes, std::ref(write));
  restamp_ = true;
  has_written(0, now());
  return bytes;
}

void HostStream::note_growth(SharedPlace piece, int64_t from) {
  if (stream_.grown.load() == piece) return;
  set_->record_growth(stream_);
  stream_.grown_from.store(from);
  stream_.grown.store(piece);
}

// Appends bytes to the piece that ends at `offset`, if there is free space after the piece. Returns the
// number of bytes written; 0 if there is no space.
int64_t HostStream::write_behind(WriteParts parts, int64_t done, int64_t bytes, int64_t offset) {
  if (offset == 0) return 0;
  const layout::PieceMap::PieceOrGap before = pieces_.at(offset - 1);
  if (!before.found) return 0;
  SharedPiece& piece = streams_.piece(before.piece.tag);
  const int64_t length = piece.length.load();
  if (piece.record == 0 || piece.offset + length != offset || piece.time <= stream_.cut.load()) return 0;
  bytes = std::min(bytes, format::max_piece_length - length);
  int64_t room = piece.capacity.load() - length;
  if (room < bytes && set_->writer().extend(piece.place + piece.capacity.load(), bytes - room)) {
    piece.capacity.store(length + bytes);
    room = bytes;
  }
  bytes = std::min(bytes, room);
  if (bytes <= 0) return 0;
  const bool is_summed = piece.sums.room != 0;
  if (is_summed) {
    set_->make_slots(piece, length + bytes);
    set_->sums().before_append(piece.sums, stream_.over, length);
  }
  put(parts, done, bytes, piece.place + length);
  note_growth(before.piece.tag, length);
  const uint64_t end = is_summed ? set_->sums().append(piece.sums, length, parts, done, bytes) : 0;
  const int64_t time = now();
  try {
    set_->writer().note_length(piece.record, length + bytes, time, end);
  } catch (...) {  // restore the old length, if possible, which hides the new bytes from readers
    attempt([&] { set_->writer().note_length(piece.record, length, stream_.modified.load(), 0); });
    throw;
  }
  piece.length.store(length + bytes, std::memory_order_release);
  if (is_summed) SumWriter::after_append(piece.sums, end);
  growth_ = stream_.growth.fetch_add(1) + 1;
  pieces_.grow(piece.offset, length + bytes);
  has_written(offset + bytes, time);
  return bytes;
}

// Adds to a record the checksum slots for a piece of at most `capacity` bytes.
void HostStream::begin_room(ContainerRecord& record, const SumWriter::Fresh& fresh, int64_t capacity) const {
  if (!streams_.head().summed) return;
  record.room = true;
  record.slots = capacity / format::summed_block;
  record.end_word = fresh.end;
  record.words = fresh.slots;
}

void HostStream::write_new(WriteParts parts, int64_t done, int64_t bytes, int64_t offset, int64_t gap) {
  const SharedPlace at = streams_.make_piece();
  SharedPiece& piece = streams_.piece(at);
  ContainerRecord record{.kind = RecordKind::piece, .stream = set_->recorded(stream_.key)};
  record.offset = offset;
  record.length = bytes;
  const bool is_summed = streams_.head().summed;
  const auto fresh = is_summed ? SumWriter::fresh(parts, done, bytes) : SumWriter::Fresh();
  try {
    // Only the first bytes of a stream are stored in a record. Otherwise a stream that grows by small writes
    // would need many records.
    if (stream_.size.load() == 0 && stream_.first.load() == 0 && set_->writer().takes_inside(bytes)) {
      begin_room(record, fresh, 0);
      record.time = record.modified = streams_.tick();
      piece.record = set_->writer().record_with(record, gathered(parts, done, bytes));
      piece.place = piece.record + format::piece_head_size(record);
      piece.capacity = bytes;
    } else {
      const int64_t ahead = offset >= stream_.size.load() ? std::min(stream_.size.load(), max_ahead) : 0;
      const auto room = set_->writer().room(bytes, std::min(std::max(bytes, ahead), std::max(bytes, gap)));
      put(parts, done, bytes, room.offset);
      begin_room(record, fresh, room.length);
      record.time = record.modified = streams_.tick();
      record.place = room.offset;
      piece.record = set_->writer().record(record);
      piece.place = room.offset;
      piece.capacity = room.length;
    }
    piece.offset = offset;
    piece.length = bytes;
    piece.time = record.time;
    if (is_summed) {
      piece.sums.room = piece.place;
      piece.sums.end_at = piece.record + format::end_word_at;
      piece.sums.end.store(fresh.end);
      piece.sums.slots = record.slots;
      piece.sums.slots_at = piece.record + format::piece_head_size(record);
    }
  } catch (...) {
    streams_.drop_piece(at);
    throw;
  }
  streams_.add_piece(stream_, at);
  pieces_.put(offset, {.length = bytes, .place = piece.place, .tag = at});
  seen_ = at;
  has_written(offset + bytes, piece.time);
}

void HostStream::require_range(int64_t offset, int64_t bytes) const {
  if (offset < 0) throw os_error("there is no such offset in a stream of", set_->file().path(), EINVAL);
  if (offset > largest_stream || bytes > largest_stream - offset)
    throw os_error("a stream cannot be so long in", set_->file().path(), EFBIG);
}

// Writes all parts at `offset`. On return, and after an exception, `done` is the number of bytes that are in
// the stream.
void HostStream::write_parts(WriteParts parts, int64_t total, int64_t offset, int64_t& done) {
  while (done < total) {
    const layout::PieceMap::PieceOrGap at = pieces_.at(offset + done);
    const int64_t most = streams_.head().summed ? sums_constants::summed_at_a_time : format::max_piece_length;
    const int64_t bytes = std::min({total - done, at.piece.length, most});
    if (at.found && streams_.piece(at.piece.tag).origin == 0) {
      done += write_over(parts, done, bytes, at.piece);
      continue;
    }
    const int64_t added = at.found ? 0 : write_behind(parts, done, bytes, offset + done);
    if (added == 0) write_new(parts, done, bytes, offset + done, at.piece.length);
    done += added == 0 ? bytes : added;
  }
}

int64_t HostStream::write_locked(WriteParts parts, int64_t offset, WriteAt how) {
  const int64_t total = total_of(parts);
  require_range(offset, total);
  look();
  has_written_ = true;
  int64_t done = 0;
  try {
    write_parts(parts, total, offset, done);
  } catch (const Error& e) {
    failed_.add(parts, done, offset + done, how, e);
    if (done == 0) {
      tell_failures();
      throw;
    }
  }
  if (failed_.empty()) return done;
  failed_.note_written(parts, done, offset);
  tell_failures();
  return done;
}

int64_t HostStream::write(WriteParts parts, int64_t offset, WriteAt how) {
  require_writable();
  const SharedStreams::StreamLock lock(streams_, at_);
  return write_locked(parts, offset, how);
}

Appended HostStream::append(WriteParts parts) {
  require_writable();
  const SharedStreams::StreamLock lock(streams_, at_);
  require_here();
  const int64_t end = stream_.size.load();
  return {end, write_locked(parts, end, WriteAt::position)};
}

void HostStream::truncate(int64_t size) {
  require_writable();
  if (size < 0) throw os_error("there is no such size of a stream of", set_->file().path(), EINVAL);
  if (size > largest_stream) throw os_error("a stream cannot be so long in", set_->file().path(), EFBIG);
  std::vector<UnusedBytes> unused;
  const SharedStreams::StreamLock lock(streams_, at_);
  require_here();
  set_->sums().settle(stream_.over);
  failed_.cut(size);
  if (size == 0 && stream_.size.load() == 0 && stream_.first.load() == 0) {
    tell_failures();
    has_written(0, now());
    has_written_ = restamp_ = true;
    return;
  }
  if (size < stream_.size.load()) unused = set_->unused(stream_, size);
  // Bytes that are cut off need no record of growth. Skipping the record lets a truncation succeed on a full
  // disk.
  if (const SharedPlace grown = stream_.grown.load();
      grown != 0 && size > streams_.piece(grown).offset + stream_.grown_from.load())
    set_->record_growth(stream_);
  ContainerRecord record{
      .kind = RecordKind::size, .time = streams_.tick(), .stream = set_->recorded(stream_.key)};
  record.size = size;
  set_->writer().record(record);
  streams_.cut(stream_, size, record.time);
  tell_failures();
  set_->discard(unused);
  has_written_ = true;
}

void HostStream::allocate(int64_t offset, int64_t length, bool extend, Allocation what) {
  SHEAF_ASSERT(!extend || what != Allocation::hole);
  require_writable();
  const auto end = checked_add(offset, length);
  if (offset < 0 || length <= 0)
    throw os_error("there is no such range in a stream of", set_->file().path(), EINVAL);
  if (!end || *end > largest_stream)
    throw os_error("a stream cannot be so long in", set_->file().path(), EFBIG);
  const SharedStreams::StreamLock lock(streams_, at_);
  look();
  has_written_ = true;
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(length, zeros_at_once)));
  const int64_t stop = extend ? *end : std::min(*end, stream_.size.load());
  while (offset < stop) {
    const layout::PieceMap::PieceOrGap at = pieces_.at(offset);
    int64_t bytes = std::min(stop - offset, at.piece.length);
    if (at.found ? what != Allocation::reservation : what != Allocation::hole) {
      bytes = std::min(bytes, std::ssize(zeros));
      const std::span<const std::byte> part = std::span(zeros).first(static_cast<size_t>(bytes));
      int64_t done = 0;
      write_parts({&part, 1}, bytes, offset, done);
    }
    offset += bytes;
  }
}

}  // namespace sheaf::streams

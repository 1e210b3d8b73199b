#include "streams/container/stream_pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>

#include "comm/agree.hpp"
#include "storage/times.hpp"
#include "streams/container/constants.hpp"

namespace sheaf::streams {

using namespace container_constants;

namespace {

using format::ContainerRecord;
using format::RecordKind;

// Writes bytes [done, done + bytes) of the concatenated parts.
void put(File& file, WriteParts parts, int64_t done, int64_t bytes, int64_t place) {
  if (parts.size() == 1)
    return file.write_at(parts[0].subspan(static_cast<size_t>(done), static_cast<size_t>(bytes)), place);
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
  file.write_pieces(pieces);
}

// Returns bytes [done, done + bytes) of the concatenated parts in one buffer.
std::vector<std::byte> gathered(WriteParts parts, int64_t done, int64_t bytes) {
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

// Adds to a record the checksum slots for a piece of at most `capacity` bytes.
void begin_room(ContainerRecord& record, const SumWriter::Fresh& fresh, int64_t capacity) {
  record.room = true;
  record.slots = capacity / format::summed_block;
  record.end_word = fresh.end;
  record.words = fresh.slots;
}

}  // namespace

void StreamPieces::look() {
  const uint64_t version = stream_.version.load();
  if (version != version_) {
    map_.clear();
    seen_ = 0;
    version_ = version;
    growth_ = stream_.growth.load();
  }
  const auto take = [&](SharedPlace at) {
    const SharedPiece& piece = index_.piece(at);
    map_.put(piece.offset, {.length = piece.length.load(), .place = piece.place, .tag = at});
  };
  if (growth_ != stream_.growth.load()) {
    for (SharedPlace at = stream_.first.load(); at != 0 && seen_ != 0; at = index_.piece(at).next.load()) {
      if (index_.piece(at).record != 0) take(at);
      if (at == seen_) break;
    }
    growth_ = stream_.growth.load();
  }
  SharedPlace at = seen_ == 0 ? stream_.first.load() : index_.piece(seen_).next.load();
  for (; at != 0; at = index_.piece(at).next.load()) {
    take(at);
    seen_ = at;
  }
}

size_t StreamPieces::plan(int64_t offset, int64_t bytes, std::span<StreamSegment> segments) {
  size_t count = 0;
  while (bytes > 0 && count < segments.size()) {
    const layout::PieceMap::PieceOrGap at = map_.at(offset);
    StreamSegment& segment = segments[count++] = {at.piece};
    segment.piece.length = std::min(at.piece.length, bytes);
    if (at.found) {
      const SharedPiece& piece = index_.piece(at.piece.tag);
      segment.origin = piece.origin;
      if (piece.origin != 0) {
        segment.piece.task = piece.capacity.load();
      } else if (container_.reader().checking() == multifile::Checking::on) {
        int64_t end = 0;
        segment.sums = sums_at(index_.memory(), piece.sums, at.piece.place, end);
        segment.piece.length = std::min(segment.piece.length, end - at.piece.place);
      }
    }
    offset += segment.piece.length;
    bytes -= segment.piece.length;
  }
  return count;
}

void StreamPieces::fetch(const StreamSegment& segment, std::span<std::byte> data) {
  if (segment.piece.tag == 0) {
    std::memset(data.data(), 0, data.size());
  } else if (segment.origin == 0) {
    read_checked(container_.file(), segment.sums, data, segment.piece.place, container_.checked());
  } else {
    read_piece(container_.source(segment.origin), segment.piece, data);
  }
}

void StreamPieces::touch() {
  has_written(0, nanoseconds_now());
  restamp_ = true;
}

void StreamPieces::record_changes() {
  container_.writer().sums().settle(stream_.over);
  container_.record_growth(stream_);
  if (!restamp_) return;
  container_.writer().record({.kind = RecordKind::attributes,
                              .time = index_.tick(),
                              .stream = container_.recorded(stream_.key),
                              .which = format::sets_modified,
                              .modified = stream_.modified.load()});
  restamp_ = false;
}

// --- Writing.

void StreamPieces::has_written(int64_t end, int64_t time) {
  if (end > stream_.size.load()) stream_.size.store(end, std::memory_order_release);
  stream_.modified.store(time);
  stream_.changed.store(time);
}

int64_t StreamPieces::write_over(WriteParts parts, int64_t done, int64_t bytes,
                                 const layout::StreamPiece& piece) {
  const SharedPiece& shared = index_.piece(piece.tag);
  const auto write = [&] { put(container_.file(), parts, done, bytes, piece.place); };
  container_.writer().sums().overwrite({.sums = piece.tag + offsetof(SharedPiece, sums),
                                        .length = shared.record == 0 ? 0 : shared.length.load(),
                                        .place = piece.place},
                                       stream_.over, parts, done, bytes, std::ref(write));
  touch();
  return bytes;
}

void StreamPieces::note_growth(SharedPlace piece) {
  if (stream_.grown.load() == piece) return;
  container_.record_growth(stream_);
  stream_.grown.store(piece);
}

// Appends bytes to the piece that ends at `offset`, if there is free space after the piece. Returns the
// number of bytes written; 0 if there is no space.
int64_t StreamPieces::write_behind(WriteParts parts, int64_t done, int64_t bytes, int64_t offset) {
  if (offset == 0) return 0;
  const layout::PieceMap::PieceOrGap before = map_.at(offset - 1);
  if (!before.found) return 0;
  SharedPiece& piece = index_.piece(before.piece.tag);
  const int64_t length = piece.length.load();
  if (piece.record == 0 || piece.offset + length != offset || piece.time <= stream_.cut.load()) return 0;
  bytes = std::min(bytes, format::max_piece_length - length);
  int64_t room = piece.capacity.load() - length;
  if (room < bytes && container_.writer().extend(piece.place + piece.capacity.load(), bytes - room)) {
    piece.capacity.store(length + bytes);
    room = bytes;
  }
  bytes = std::min(bytes, room);
  if (bytes <= 0) return 0;
  const bool is_summed = piece.sums.room != 0;
  if (is_summed) {
    container_.writer().make_slots(piece, length + bytes);
    container_.writer().sums().before_append(piece.sums, stream_.over, length);
  }
  put(container_.file(), parts, done, bytes, piece.place + length);
  note_growth(before.piece.tag);
  const uint64_t end =
      is_summed ? container_.writer().sums().append(piece.sums, length, parts, done, bytes) : 0;
  const int64_t time = nanoseconds_now();
  try {
    container_.writer().note_length(piece.record, length + bytes, time, end);
  } catch (...) {  // restore the old length, if possible, which hides the new bytes from readers
    attempt([&] { container_.writer().note_length(piece.record, length, stream_.modified.load(), 0); });
    throw;
  }
  piece.length.store(length + bytes, std::memory_order_release);
  if (is_summed) SumWriter::after_append(piece.sums, end);
  growth_ = stream_.growth.fetch_add(1) + 1;
  map_.grow(piece.offset, length + bytes);
  has_written(offset + bytes, time);
  return bytes;
}

void StreamPieces::write_new(WriteParts parts, int64_t done, int64_t bytes, int64_t offset, int64_t gap) {
  const SharedPlace at = index_.allocator().make<SharedPiece>();
  SharedPiece& piece = index_.piece(at);
  ContainerRecord record{.kind = RecordKind::piece,
                         .stream = container_.recorded(stream_.key),
                         .offset = offset,
                         .length = bytes};
  const bool is_summed = index_.head().summed;
  const auto fresh = is_summed ? SumWriter::fresh(parts, done, bytes) : SumWriter::Fresh();
  try {
    // Only the first bytes of a stream are stored in a record. Otherwise a stream that grows by small writes
    // would need many records.
    if (stream_.size.load() == 0 && stream_.first.load() == 0 && container_.writer().takes_inside(bytes)) {
      if (is_summed) begin_room(record, fresh, 0);
      record.time = record.modified = index_.tick();
      piece.record = container_.writer().record_with(record, gathered(parts, done, bytes));
      record.place = piece.record + format::piece_head_size(record);
      piece.capacity = bytes;
    } else {
      const int64_t ahead = offset >= stream_.size.load() ? std::min(stream_.size.load(), max_ahead) : 0;
      const auto room =
          container_.writer().room(bytes, std::min(std::max(bytes, ahead), std::max(bytes, gap)));
      put(container_.file(), parts, done, bytes, room.offset);
      if (is_summed) begin_room(record, fresh, room.length);
      record.time = record.modified = index_.tick();
      record.place = room.offset;
      piece.record = container_.writer().record(record);
      piece.capacity = room.length;
    }
    piece.place = record.place;
    piece.offset = offset;
    piece.length = piece.recorded = bytes;
    piece.time = record.time;
    if (is_summed) {
      piece.sums.room = piece.place;
      piece.sums.end_at = piece.record + format::end_word_at;
      piece.sums.end.store(fresh.end);
      piece.sums.slots = record.slots;
      piece.sums.slots_at = piece.record + format::piece_head_size(record);
    }
  } catch (...) {
    index_.drop_piece(at);
    throw;
  }
  index_.add_piece(stream_, seen_, at);
  map_.put(offset, {.length = bytes, .place = piece.place, .tag = at});
  seen_ = at;
  has_written(offset + bytes, piece.time);
}

void StreamPieces::write(WriteParts parts, int64_t total, int64_t offset, int64_t& done) {
  while (done < total) {
    const layout::PieceMap::PieceOrGap at = map_.at(offset + done);
    const int64_t most = index_.head().summed ? sums_constants::summed_at_a_time : format::max_piece_length;
    const int64_t bytes = std::min({total - done, at.piece.length, most});
    if (at.found && index_.piece(at.piece.tag).origin == 0) {
      done += write_over(parts, done, bytes, at.piece);
      continue;
    }
    const int64_t added = at.found ? 0 : write_behind(parts, done, bytes, offset + done);
    if (added == 0) write_new(parts, done, bytes, offset + done, at.piece.length);
    done += added == 0 ? bytes : added;
  }
}

}  // namespace sheaf::streams

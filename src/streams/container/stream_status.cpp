// streams/container/stream_status: further functions of HostStream and OpenSet. They read a stream, get and
// set its status, report failed writes, close and move the stream, and change its name.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "streams/container/host_stream.hpp"

namespace sheaf::streams {

using format::ContainerRecord;
using format::RecordKind;

uint64_t number_of(const format::StreamKey& key) {
  const uint64_t origin = (key.origin * 0x9e3779b97f4a7c15u) >> 41;
  return (origin << 40) ^ key.number;
}

StreamStatus status_of(SharedStream& stream) {
  StreamStatus status;
  status.number = number_of(stream.key);
  status.size = stream.size.load(std::memory_order_acquire);
  status.modified = stream.modified.load(std::memory_order_relaxed);
  status.changed = stream.changed.load(std::memory_order_relaxed);
  status.mode = stream.mode.load(std::memory_order_relaxed);
  status.linked = stream.entry.load(std::memory_order_relaxed) != 0;
  return status;
}

void require_name(std::string_view name, const std::string& set) {
  if (name.empty()) throw os_error("a stream needs a name in", set, ENOENT);
  if (std::ssize(name) > max_stream_name)
    throw os_error("the name of a stream is too long for", set, ENAMETOOLONG);
  if (name.find('\0') != std::string_view::npos) throw os_error("a name with NUL cannot be in", set, EINVAL);
}

void HostStream::require_here() const {
  if (stream_.moved.load() != 0) throw os_error("a stream was renamed out of", set_->file().path(), ESTALE);
}

StreamStatus HostStream::status() {
  require_here();
  StreamStatus status = status_of(stream_);
  status.block = set_->block_size();
  return status;
}

size_t HostStream::plan(int64_t offset, int64_t bytes, std::span<StreamSegment> segments) {
  size_t count = 0;
  while (bytes > 0 && count < segments.size()) {
    const layout::PieceMap::PieceOrGap at = pieces_.at(offset);
    StreamSegment& segment = segments[count++];
    segment.piece = at.piece;
    segment.piece.length = std::min(at.piece.length, bytes);
    if (!at.found) {
      segment.piece.tag = 0;
    } else {
      const SharedPiece& piece = streams_.piece(at.piece.tag);
      segment.origin = piece.origin;
      segment.sums = {};
      if (piece.origin != 0) {
        segment.piece.task = piece.capacity.load();
      } else if (set_->view().checking() == multifile::Checking::on) {
        int64_t end = 0;
        segment.sums = sums_at(set_->memory(), piece.sums, at.piece.place, end);
        segment.piece.length = std::min(segment.piece.length, end - at.piece.place);
      }
    }
    offset += segment.piece.length;
    bytes -= segment.piece.length;
  }
  return count;
}

// --- Reading.

void HostStream::fetch(const StreamSegment& segment, std::span<std::byte> data) {
  if (segment.piece.tag == 0) {
    std::memset(data.data(), 0, data.size());
  } else if (segment.origin == 0) {
    read_checked(set_->file(), segment.sums, data, segment.piece.place, set_->checked());
  } else {
    read_piece(set_->source(segment.origin), segment.piece, data);
  }
}

size_t HostStream::read(std::span<std::byte> data, int64_t offset) {
  try {
    return read_from(data, offset, false);
  } catch (const SumMismatch& mismatch) {
    mismatch.refuse(name(), mismatch.place);
  }
}

size_t HostStream::read_from(std::span<std::byte> data, int64_t offset, bool locked) {
  if (offset < 0) throw os_error("there is no such offset in a stream of", set_->file().path(), EINVAL);
  std::array<StreamSegment, 8> segments;
  size_t done = 0;
  while (done < data.size()) {
    size_t count = 0;
    const int64_t from = offset + static_cast<int64_t>(done);
    {
      std::optional<SharedStreams::StreamLock> lock;
      if (!locked) lock.emplace(streams_, at_);
      look();
      const int64_t left = stream_.size.load() - from;
      if (left > 0)
        count = plan(from, std::min(left, std::ssize(data) - static_cast<int64_t>(done)), segments);
    }
    if (count == 0) break;
    for (const StreamSegment& segment : std::span(segments).first(count)) {
      try {
        fetch(segment, data.subspan(done, static_cast<size_t>(segment.piece.length)));
      } catch (SumMismatch& mismatch) {
        mismatch.place += offset + static_cast<int64_t>(done) - segment.piece.place;
        throw;
      }
      done += static_cast<size_t>(segment.piece.length);
    }
  }
  return done;
}

// --- Status.

void HostStream::set(const StreamAttributes& attributes) {
  const SharedStreams::StreamLock lock(streams_, at_);
  require_here();
  set_->record_growth(stream_);
  ContainerRecord record{
      .kind = RecordKind::attributes, .time = streams_.tick(), .stream = set_->recorded(stream_.key)};
  record.which =
      (attributes.mode ? format::sets_mode : 0) | (attributes.modified ? format::sets_modified : 0);
  record.mode = attributes.mode.value_or(0);
  record.modified = attributes.modified.value_or(0);
  set_->writer().record(record);
  if (attributes.mode) stream_.mode.store(*attributes.mode);
  if (attributes.modified) {
    stream_.modified.store(*attributes.modified);
    restamp_ = false;
  }
  stream_.changed.store(record.time);
  has_written_ = true;
}

std::optional<int64_t> HostStream::next_data(int64_t offset) {
  const SharedStreams::StreamLock lock(streams_, at_);
  return find_data(offset);
}

std::optional<int64_t> HostStream::next_hole(int64_t offset) {
  const SharedStreams::StreamLock lock(streams_, at_);
  return find_hole(offset);
}

std::optional<int64_t> HostStream::find_data(int64_t offset) {
  look();
  const layout::PieceMap::PieceOrGap at = pieces_.at(offset);
  const int64_t found = at.found                                ? offset
                        : at.piece.length == INT64_MAX - offset ? INT64_MAX
                                                                : offset + at.piece.length;
  return offset >= 0 && found < stream_.size.load() ? std::optional(found) : std::nullopt;
}

std::optional<int64_t> HostStream::find_hole(int64_t offset) {
  look();
  const int64_t size = stream_.size.load();
  if (offset < 0 || offset >= size) return std::nullopt;
  while (offset < size) {
    const layout::PieceMap::PieceOrGap at = pieces_.at(offset);
    if (!at.found) break;
    offset += at.piece.length;
  }
  return std::min(offset, size);
}

std::string HostStream::name() {
  const SharedStreams::NamesLock lock(streams_);
  return std::string(streams_.name_of(at_));
}

std::optional<StreamTarget> HostStream::moved() {
  const SharedPlace at = stream_.moved.load();
  if (at == 0) return std::nullopt;
  const SharedTarget& target = streams_.target(at);
  return StreamTarget{{target.path, target.bytes}, target.device, target.number};
}

// The move takes effect when `moving` is set. If the process is killed earlier, other processes see no
// change. If it is killed later, mend() completes the move.
bool HostStream::move_out(const std::string& path, const ContainerSet::CopyOut& copy) {
  const SharedStreams::StreamLock lock(streams_, at_);
  if (stream_.moved.load() != 0) return false;
  const SharedPlace at = streams_.make_target(path);
  try {
    SharedTarget& target = streams_.target(at);
    std::tie(target.device, target.number) =
        copy({[this](std::span<std::byte> data, int64_t offset) { return read_from(data, offset, true); },
              [this](int64_t offset) { return find_data(offset); },
              [this](int64_t offset) { return find_hole(offset); }},
             status_of(stream_));
    stream_.moving.store(at);
    set_->writer().record(
        {.kind = RecordKind::remove, .time = streams_.tick(), .stream = set_->recorded(stream_.key)});
  } catch (...) {
    stream_.moving.store(0);
    streams_.drop_target(at);
    throw;
  }
  stream_.moved.store(at);
  stream_.moving.store(0);
  return true;
}

// --- Failed writes.

void HostStream::record_failure(int64_t failure, const FailedStreamWrites& failed) {
  ContainerRecord record{
      .kind = RecordKind::failure, .time = streams_.tick(), .stream = set_->recorded(stream_.key)};
  record.failure = failure;
  record.offset = failed.empty() ? 0 : failed.offset();
  record.length = failed.empty() ? 0 : failed.bytes();
  set_->writer().record(record);
  if (failure == 0) {
    told_ = record.time;
    told_offset_ = record.offset;
  }
}

// Records the first failed write in the container, so that readers learn of the missing bytes even after the
// end of the program.
void HostStream::tell_failures() {
  has_failed_ = !failed_.empty();
  const bool is_told = told_ != 0 && !failed_.empty() && told_offset_ == failed_.offset();
  if (is_told || (told_ == 0 && failed_.empty())) return;
  const int64_t before = std::exchange(told_, 0);
  try {
    if (!failed_.empty()) record_failure(0, failed_);
    if (before != 0) record_failure(before, {});
  } catch (const Error&) {  // the record does not fit, even into the spare area
    // Do not throw: the write has succeeded, or throws its own error. flush() fails while `failed_` is not
    // empty.
    attempt([&] { set_->writer().note_failure(); });
  }
}

void HostStream::refuse_failed() {
  if (!has_failed_) return;
  std::string name;
  {
    const SharedStreams::NamesLock lock(streams_);
    name = streams_.name_of(at_);
  }
  const SharedStreams::StreamLock lock(streams_, at_);
  if (!failed_.empty() && !name.empty()) failed_.refuse(name);
}

// --- Closing and syncing.

void HostStream::flush() {
  if (stream_.moved.load() != 0) return;
  if (has_written_.exchange(false)) record_changes();
  refuse_failed();
}

void HostStream::record_changes() {
  {
    const SharedStreams::StreamLock lock(streams_, at_);
    set_->sums().settle(stream_.over);
    set_->record_growth(stream_);
    if (restamp_) {
      ContainerRecord record{
          .kind = RecordKind::attributes, .time = streams_.tick(), .stream = set_->recorded(stream_.key)};
      record.which = format::sets_modified;
      record.modified = stream_.modified.load();
      set_->writer().record(record);
      restamp_ = false;
    }
  }
  set_->publish_changes();
}

void HostStream::sync() {
  require_here();
  if (has_written_.exchange(false)) record_changes();
  set_->writer().note_sync();
  set_->file().sync();
  refuse_failed();
}

// --- Names.

// Ignores a full disk, because it must not prevent opening or removing a stream. The next open then tries
// again.
void OpenSet::bind(SharedPlace at) {
  SharedStream& stream = streams_->stream(at);
  if (stream.bound.load() != 0 || stream.entry.load() == 0) return;
  ContainerRecord record{
      .kind = RecordKind::create, .time = streams_->tick(), .stream = recorded(stream.key)};
  record.name = streams_->name_of(at);
  record.mode = stream.mode.load();
  try {
    writer_->record(record);
    stream.bound.store(1);
  } catch (const Error& e) {
    if (e.code() != Code::no_space) throw;
  }
}

void OpenSet::rename(SharedPlace at, SharedPlace entry) {
  SharedStreams::Head& head = streams_->head();
  head.renamed_to.store(entry);
  head.renamed.store(at);
  try {
    finish_renaming();
  } catch (...) {
    head.renamed.store(0);
    throw;
  }
}

// Records and completes the rename in Head::renamed, including one that a killed process has begun. That
// process may have written the record already. A second one is harmless, because no process has looked up a
// name since.
void OpenSet::finish_renaming() {
  SharedStreams::Head& head = streams_->head();
  const SharedPlace at = head.renamed.load(), entry = head.renamed_to.load();
  if (at == 0) return;
  if (streams_->stream(at).entry.load() != entry) {
    bind(at);
    ContainerRecord record{
        .kind = RecordKind::remove, .time = streams_->tick(), .stream = recorded(streams_->stream(at).key)};
    if (entry != 0) {
      record.kind = RecordKind::rename;
      record.name = streams_->name_in(entry);
    }
    writer_->record(record);
    entry == 0 ? streams_->take_name(at) : streams_->give_name(entry, record.time);
  }
  head.renamed.store(0);
}

// Writes the record of the removal again, because the process that moved the stream may have been killed
// before it wrote one.
bool OpenSet::take_name_of_moved(SharedPlace at) {
  SharedStream& stream = streams_->stream(at);
  if (stream.moving.load() != 0) {
    const SharedStreams::StreamLock lock(*streams_, at);
    if (stream.moving.load() != 0) {
      writer_->record({.kind = RecordKind::remove, .time = streams_->tick(), .stream = recorded(stream.key)});
      stream.moving.store(0);
    }
  }
  if (stream.moved.load() == 0) return false;
  streams_->take_name(at);
  return true;
}

}  // namespace sheaf::streams

#include "streams/container/host_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
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

int64_t total_of(std::span<const std::span<const std::byte>> parts) {
  int64_t total = 0;
  for (const auto& part : parts) total = must_fit(checked_add(total, std::ssize(part)), "a request");
  return total;
}

}  // namespace

uint64_t number_of(const format::StreamKey& key) {
  const uint64_t origin = (key.origin * 0x9e3779b97f4a7c15u) >> 41;
  return (origin << 40) ^ key.number;
}

StreamStatus status_of(SharedStream& stream) {
  return {.number = number_of(stream.key),
          .size = stream.size.load(std::memory_order_acquire),
          .modified = stream.modified.load(std::memory_order_relaxed),
          .changed = stream.changed.load(std::memory_order_relaxed),
          .mode = stream.mode.load(std::memory_order_relaxed),
          .linked = stream.entry.load(std::memory_order_relaxed) != 0};
}

void require_name(std::string_view name, const std::string& set) {
  if (name.empty()) throw os_error("a stream needs a name in", set, ENOENT);
  if (std::ssize(name) > max_stream_name)
    throw os_error("the name of a stream is too long for", set, ENAMETOOLONG);
  if (name.find('\0') != std::string_view::npos) throw os_error("a name with NUL cannot be in", set, EINVAL);
}

HostStream::HostStream(std::shared_ptr<HostContainer> container, SharedPlace at, bool writable)
    : container_(std::move(container)),
      index_(container_->index()),
      at_(at),
      stream_(index_.stream(at)),
      writable_(writable),
      pieces_(*container_, stream_) {
  index_.open(at_);
  noted_ = container_->note_open(at_);
}

HostStream::~HostStream() {
  try {
    if (has_written_) flush();
  } catch (const std::exception&) {
  }
  container_->note_close(noted_);
  std::vector<UnusedBytes> unused;
  {
    const ContainerIndex::NamesLock lock(index_);
    if (stream_.entry.load() == 0 && stream_.opens.load() == 1)
      unused = container_->writer().unused(stream_, 0);
    index_.close(at_);
  }
  container_->writer().sums().discard(unused);
}

void HostStream::require_writable() const {
  if (!writable_) throw os_error("a stream is not open for writing in", container_->file().path(), EBADF);
}

// --- Writing.

void HostStream::require_range(int64_t offset, int64_t bytes) const {
  if (offset < 0) throw os_error("there is no such offset in a stream of", container_->file().path(), EINVAL);
  if (offset > largest_stream || bytes > largest_stream - offset)
    throw os_error("a stream cannot be so long in", container_->file().path(), EFBIG);
}

int64_t HostStream::write_locked(WriteParts parts, int64_t offset, WriteAt how) {
  const int64_t total = total_of(parts);
  require_range(offset, total);
  look();
  has_written_ = true;
  int64_t done = 0;
  try {
    pieces_.write(parts, total, offset, done);
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
  const ContainerIndex::StreamLock lock(index_, at_);
  return write_locked(parts, offset, how);
}

Appended HostStream::append(WriteParts parts) {
  require_writable();
  const ContainerIndex::StreamLock lock(index_, at_);
  require_here();
  const int64_t end = stream_.size.load();
  return {end, write_locked(parts, end, WriteAt::position)};
}

void HostStream::truncate(int64_t size) {
  require_writable();
  if (size < 0) throw os_error("there is no such size of a stream of", container_->file().path(), EINVAL);
  require_range(0, size);
  std::vector<UnusedBytes> unused;
  const ContainerIndex::StreamLock lock(index_, at_);
  require_here();
  container_->writer().sums().settle(stream_.over);
  failed_.cut(size);
  if (size == 0 && stream_.size.load() == 0 && stream_.first.load() == 0) {
    tell_failures();
    pieces_.touch();
    has_written_ = true;
    return;
  }
  if (size < stream_.size.load()) unused = container_->writer().unused(stream_, size);
  // Bytes that are cut off need no record of growth. Skipping the record lets a truncation succeed on a full
  // disk.
  if (const SharedPlace grown = stream_.grown.load();
      grown != 0 && size > index_.piece(grown).offset + index_.piece(grown).recorded)
    container_->record_growth(stream_);
  const ContainerRecord record{.kind = RecordKind::size,
                               .time = index_.tick(),
                               .stream = container_->recorded(stream_.key),
                               .size = size};
  container_->writer().record(record);
  index_.cut(stream_, size, record.time);
  tell_failures();
  container_->writer().sums().discard(unused);
  has_written_ = true;
}

void HostStream::allocate(int64_t offset, int64_t length, bool extend, Allocation what) {
  SHEAF_ASSERT(!extend || what != Allocation::hole);
  require_writable();
  if (offset < 0 || length <= 0)
    throw os_error("there is no such range in a stream of", container_->file().path(), EINVAL);
  require_range(offset, length);
  const ContainerIndex::StreamLock lock(index_, at_);
  look();
  has_written_ = true;
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(length, zeros_at_once)));
  const int64_t stop = extend ? offset + length : std::min(offset + length, stream_.size.load());
  while (offset < stop) {
    const layout::PieceMap::PieceOrGap at = pieces_.map().at(offset);
    int64_t bytes = std::min(stop - offset, at.piece.length);
    if (at.found ? what != Allocation::reservation : what != Allocation::hole) {
      bytes = std::min(bytes, std::ssize(zeros));
      const std::span<const std::byte> part = std::span(zeros).first(static_cast<size_t>(bytes));
      int64_t done = 0;
      pieces_.write({&part, 1}, bytes, offset, done);
    }
    offset += bytes;
  }
}

// The caller holds the lock of the stream.
std::optional<int64_t> HostStream::next(Space what, int64_t offset) {
  look();
  return next_in(pieces_.map(), stream_.size.load(), what, offset);
}

std::optional<int64_t> HostStream::next_data(int64_t offset) {
  const ContainerIndex::StreamLock lock(index_, at_);
  return next(Space::data, offset);
}

std::optional<int64_t> HostStream::next_hole(int64_t offset) {
  const ContainerIndex::StreamLock lock(index_, at_);
  return next(Space::hole, offset);
}

void HostStream::look() {
  require_here();
  pieces_.look();
}

void HostStream::require_here() const {
  if (stream_.moved.load() != 0)
    throw os_error("a stream was renamed out of", container_->file().path(), ESTALE);
}

StreamStatus HostStream::status() {
  require_here();
  StreamStatus status = status_of(stream_);
  status.block = container_->block_size();
  return status;
}

size_t HostStream::read(std::span<std::byte> data, int64_t offset) {
  try {
    return read_from(data, offset, false);
  } catch (const SumMismatch& mismatch) {
    mismatch.refuse(name(), mismatch.place);
  }
}

size_t HostStream::read_from(std::span<std::byte> data, int64_t offset, bool locked) {
  if (offset < 0) throw os_error("there is no such offset in a stream of", container_->file().path(), EINVAL);
  std::array<StreamSegment, 8> segments;
  size_t done = 0;
  while (done < data.size()) {
    size_t count = 0;
    const int64_t from = offset + static_cast<int64_t>(done);
    {
      std::optional<ContainerIndex::StreamLock> lock;
      if (!locked) lock.emplace(index_, at_);
      look();
      const int64_t left = stream_.size.load() - from;
      if (left > 0)
        count = pieces_.plan(from, std::min(left, std::ssize(data) - static_cast<int64_t>(done)), segments);
    }
    if (count == 0) break;
    for (const StreamSegment& segment : std::span(segments).first(count)) {
      try {
        pieces_.fetch(segment, data.subspan(done, static_cast<size_t>(segment.piece.length)));
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
  const ContainerIndex::StreamLock lock(index_, at_);
  require_here();
  container_->record_growth(stream_);
  const ContainerRecord record{
      .kind = RecordKind::attributes,
      .time = index_.tick(),
      .stream = container_->recorded(stream_.key),
      .mode = attributes.mode.value_or(0),
      .which = (attributes.mode ? format::sets_mode : 0) | (attributes.modified ? format::sets_modified : 0),
      .modified = attributes.modified.value_or(0)};
  container_->writer().record(record);
  if (attributes.mode) stream_.mode.store(*attributes.mode);
  if (attributes.modified) {
    stream_.modified.store(*attributes.modified);
    pieces_.note_stamped();
  }
  stream_.changed.store(record.time);
  has_written_ = true;
}

std::string HostStream::name() {
  const ContainerIndex::NamesLock lock(index_);
  return std::string(index_.name_of(at_));
}

std::optional<StreamTarget> HostStream::moved() {
  const SharedPlace at = stream_.moved.load();
  if (at == 0) return std::nullopt;
  const SharedTarget& target = index_.target(at);
  return StreamTarget{{target.text, target.bytes}, target.device, target.number};
}

// The move takes effect when `moving` is set. If the process is killed earlier, other processes see no
// change. If it is killed later, mend() completes the move.
bool HostStream::move_out(const std::string& path, const ContainerSet::CopyOut& copy) {
  const ContainerIndex::StreamLock lock(index_, at_);
  if (stream_.moved.load() != 0) return false;
  const SharedPlace at = index_.allocator().make_with<SharedTarget>(path);
  try {
    SharedTarget& target = index_.target(at);
    std::tie(target.device, target.number) =
        copy({[this](std::span<std::byte> data, int64_t offset) { return read_from(data, offset, true); },
              [this](int64_t offset) { return next(Space::data, offset); },
              [this](int64_t offset) { return next(Space::hole, offset); }},
             status_of(stream_));
    stream_.moving.store(at);
    container_->writer().record(
        {.kind = RecordKind::remove, .time = index_.tick(), .stream = container_->recorded(stream_.key)});
  } catch (...) {
    stream_.moving.store(0);
    index_.allocator().drop_with<SharedTarget>(at);
    throw;
  }
  stream_.moved.store(at);
  stream_.moving.store(0);
  return true;
}

// --- Failed writes.

void HostStream::record_failure(int64_t failure, const FailedStreamWrites& failed) {
  const ContainerRecord record{.kind = RecordKind::failure,
                               .time = index_.tick(),
                               .stream = container_->recorded(stream_.key),
                               .offset = failed.empty() ? 0 : failed.offset(),
                               .length = failed.empty() ? 0 : failed.bytes(),
                               .failure = failure};
  container_->writer().record(record);
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
    attempt([&] { container_->writer().note_failure(); });
  }
}

void HostStream::refuse_failed() {
  if (!has_failed_) return;
  std::string name;
  {
    const ContainerIndex::NamesLock lock(index_);
    name = index_.name_of(at_);
  }
  const ContainerIndex::StreamLock lock(index_, at_);
  if (!failed_.empty() && !name.empty()) failed_.refuse(name);
}

// --- Closing and syncing.

void HostStream::flush() {
  if (stream_.moved.load() != 0) return;
  record_changes();
  refuse_failed();
}

void HostStream::record_changes() {
  if (!has_written_.exchange(false)) return;
  try {
    {
      const ContainerIndex::StreamLock lock(index_, at_);
      pieces_.record_changes();
    }
    container_->publish_changes();
  } catch (...) {
    has_written_ = true;  // the next call tries again
    throw;
  }
}

void HostStream::sync() {
  require_here();
  record_changes();
  container_->writer().note_sync();
  container_->file().sync();
  refuse_failed();
}

}  // namespace sheaf::streams

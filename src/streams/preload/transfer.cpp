#include "streams/preload/transfer.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/mappings.hpp"

namespace sheaf::preload {

using streams::Appended;
using streams::ContainerStream;
using streams::largest_stream;
using streams::WriteAt;

namespace {

constexpr size_t max_bytes = 0x7ffff000;  // limit of one call, as in Linux
constexpr off64_t allocated_at_once = 64 << 20;

// Returns the total size of the parts in bytes. Returns -1 if the sum overflows, or if `n` is negative or
// exceeds IOV_MAX.
ssize_t size_of(const iovec* parts, int n) {
  if (n < 0 || n > IOV_MAX) return -1;
  size_t sum = 0;
  for (int i = 0; i < n; ++i) {
    if (parts[i].iov_len > size_t(SSIZE_MAX) - sum) return -1;
    sum += parts[i].iov_len;
  }
  return ssize_t(sum);
}

ssize_t read_parts(ContainerStream& stream, const iovec* parts, int n, int64_t offset) {
  size_t done = 0;
  for (int i = 0; i < n; ++i) {
    const size_t size = std::min(parts[i].iov_len, max_bytes - done);
    const size_t got =
        stream.read({static_cast<std::byte*>(parts[i].iov_base), size}, offset + int64_t(done));
    done += got;
    if (got < parts[i].iov_len) break;
  }
  return ssize_t(done);
}

using WriteSpan = std::span<const std::byte>;

// Returns the first max_bytes bytes of the parts as spans in `room`, and stores their total size in `total`.
std::span<const WriteSpan> spans_of(const iovec* parts, int n, std::array<WriteSpan, IOV_MAX>& room,
                                    size_t& total) {
  total = 0;
  size_t used = 0;
  for (int i = 0; i < n && total < max_bytes; ++i) {
    const size_t size = std::min(parts[i].iov_len, max_bytes - total);
    if (size > 0) room[used++] = {static_cast<const std::byte*>(parts[i].iov_base), size};
    total += size;
  }
  return {room.data(), used};
}

// Advances the offset of the open file by `size` before the bytes are written, so that two writes at the
// offset never overlap. Returns the old offset.
int64_t claim(Slot& slot, size_t size) { return slot.offset.fetch_add(int64_t(size)); }

// Marks the extent [begin, end) as changed.
void note_written(OpenFile& file, int64_t begin, int64_t end) {
  file.written.store(true, std::memory_order_relaxed);
  show_in_mappings(file.set.get(), file.slot.load()->stream, begin, end);
}

// Moves the offset back by the bytes that claim() has reserved and the write has not written, unless another
// process has moved the offset since.
void give_back(Slot& slot, const Appended& written, size_t size) {
  int64_t claimed = written.offset + int64_t(size);
  slot.offset.compare_exchange_strong(claimed, written.end());
}

ssize_t write_spans(OpenFile& file, std::span<const WriteSpan> spans, size_t total, off64_t offset,
                    bool append) {
  if (total == 0) return 0;
  Slot& slot = *file.slot.load();
  const bool moves = offset == at_position;
  Appended done{offset, 0};
  int error = 0;
  if (append || (slot.flags.load() & O_APPEND)) {
    error = errno_of([&] { done = file.stream->append(spans); });
    if (error == 0 && moves) slot.offset.store(done.end());
  } else {
    if (moves) done.offset = claim(slot, total);
    const WriteAt how = moves ? WriteAt::position : WriteAt::offset;
    error = errno_of([&] { done.bytes = file.stream->write(spans, done.offset, how); });
    if (moves && done.bytes < int64_t(total)) give_back(slot, done, total);
  }
  if (error != 0) {
    file.written.store(true, std::memory_order_relaxed);  // makes close(2) report the missing bytes
    return failed(error);
  }
  note_written(file, done.offset, done.end());
  if ((slot.flags.load() & O_DSYNC) && done.bytes == int64_t(total))  // O_SYNC includes this bit
    if (const int failure = errno_of([&] { file.stream->sync(); })) return failed(failure);
  return ssize_t(done.bytes);
}

// Not inlined, because callers with few parts must not pay for its large stack frame.
__attribute__((noinline)) ssize_t write_many(OpenFile& file, const iovec* parts, int n, off64_t offset,
                                             bool append) {
  std::array<WriteSpan, IOV_MAX> room;
  size_t total = 0;
  const auto spans = spans_of(parts, n, room, total);
  return write_spans(file, spans, total, offset, append);
}

}  // namespace

ssize_t read_captured(int fd, const iovec* parts, int n, off64_t offset) noexcept {
  const Use file(fd);
  if (!file || !reads(file->flags())) return failed(EBADF);
  if (size_of(parts, n) < 0) return failed(EINVAL);
  Slot& slot = *file->slot.load();
  const bool moves = offset == at_position;
  for (;;) {
    int64_t begin = moves ? slot.offset.load() : offset;
    ssize_t done = 0;
    if (const int error = errno_of([&] { done = read_parts(*file->stream, parts, n, begin); }))
      return failed(error);
    // Retry if another thread or process has moved the shared offset, so that no two reads get the same
    // bytes.
    if (!moves || done <= 0 || slot.offset.compare_exchange_strong(begin, begin + done)) return done;
  }
}

ssize_t write_captured(int fd, const iovec* parts, int n, off64_t offset, bool append) noexcept {
  const Use file(fd);
  if (!file || !writes(file->flags())) return failed(EBADF);
  if (size_of(parts, n) < 0) return failed(EINVAL);
  if (n != 1) return write_many(*file, parts, n, offset, append);
  const WriteSpan one(static_cast<const std::byte*>(parts->iov_base), std::min(parts->iov_len, max_bytes));
  return write_spans(*file, {&one, 1}, one.size(), offset, append);
}

ssize_t read_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept {
  return offset < 0 ? failed(EINVAL) : read_captured(fd, parts, n, offset);
}

ssize_t write_captured_at(int fd, const iovec* parts, int n, off64_t offset) noexcept {
  return offset < 0 ? failed(EINVAL) : write_captured(fd, parts, n, offset);
}

namespace {

// Replaces `offset` by the next data or hole at or after `offset`. Returns 0 or an errno.
int seek_content(ContainerStream& stream, off64_t& offset, int whence) {
  if (offset < 0) return ENXIO;
  std::optional<int64_t> found;
  const int error =
      errno_of([&] { found = whence == SEEK_DATA ? stream.next_data(offset) : stream.next_hole(offset); });
  offset = found.value_or(0);
  return error == 0 && !found ? ENXIO : error;
}

}  // namespace

off64_t seek_captured(int fd, off64_t offset, int whence) noexcept {
  const Use file(fd);
  if (!file || (file->flags() & O_PATH)) return failed(EBADF);
  Slot& slot = *file->slot.load();
  int64_t base = 0;
  int error = 0;
  switch (whence) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      base = slot.offset.load();
      break;
    case SEEK_END:
      error = errno_of([&] { base = file->stream->status().size; });
      break;
    case SEEK_DATA:
    case SEEK_HOLE:
      error = seek_content(*file->stream, offset, whence);
      break;
    default:
      return failed(EINVAL);
  }
  if (error != 0) return failed(error);
  int64_t place = 0;
  if (__builtin_add_overflow(base, offset, &place)) return failed(EOVERFLOW);
  if (place < 0 || place > largest_stream) return failed(EINVAL);
  slot.offset.store(place);
  return place;
}

int truncate_captured(int fd, off64_t size) noexcept {
  const Use file(fd);
  if (!file || (file->flags() & O_PATH)) return failed(EBADF);
  if (size < 0 || !writes(file->flags())) return failed(EINVAL);
  if (const int error = errno_of([&] { file->stream->truncate(size); })) return failed(error);
  note_written(*file, size, size);
  return 0;
}

namespace {

// Returns whether `length` bytes do not exceed the total size of the file system. The caller refuses larger
// requests at once, instead of filling the file system before it fails.
bool can_have(int fd, off64_t length) noexcept {
  struct statvfs64 all;
  return fstatvfs64(fd, &all) != 0 || uint64_t(length) / all.f_frsize < all.f_blocks;
}

// Allocates one part of a range. Filling a disk can take long, so callers allocate part by part, and pending
// signals are delivered between the parts.
int allocate_part(int fd, int mode, off64_t offset, off64_t length) noexcept {
  const Use file(fd);
  if (!file || !writes(file->flags())) return failed(EBADF);
  const auto what = allocation_of(mode);
  if (!what) return failed(EOPNOTSUPP);
  if (const int error = errno_of([&] { file->stream->allocate(offset, length, extends(mode), *what); }))
    return failed(error);
  note_written(*file, offset, offset + length);
  return 0;
}

constexpr int64_t shifted_at_once = 1 << 20;

// Moves bytes [begin, end) of a stream by `by` bytes. Copies from the first byte on if `by` is negative, else
// from the last byte backwards, so that no byte is overwritten before it is copied.
void shift(ContainerStream& stream, int64_t begin, int64_t end, int64_t by) {
  std::vector<std::byte> bytes(size_t(std::min(end - begin, shifted_at_once)));
  for (int64_t done = 0, n = 0; done < end - begin; done += n) {
    n = std::min(end - begin - done, std::ssize(bytes));
    const int64_t at = by < 0 ? begin + done : end - done - n;
    const auto part = std::span(bytes).first(size_t(n));
    stream.read(part, at);
    stream.write_all(part, at + by);
  }
}

// Allocates `length` bytes of space at the end of the stream. Called before any byte moves, so that the moves
// cannot fail on a full file system. Throws if the space is not available, and then restores the size.
void make_room(ContainerStream& stream, int64_t size, int64_t length) {
  const int error = errno_of([&] { stream.allocate(size, length, true, Allocation::reservation); });
  if (error == 0) return;
  stream.truncate(size);
  throw os_error("cannot make", "room in a captured file", error);
}

// Implements FALLOC_FL_INSERT_RANGE if `insert` is set, else FALLOC_FL_COLLAPSE_RANGE. Accepts only whole
// blocks, as file systems do.
int move_range(int fd, bool insert, off64_t offset, off64_t length) noexcept {
  struct statvfs64 blocks;
  const bool known = fstatvfs64(fd, &blocks) == 0 && blocks.f_bsize > 0;
  const auto block = known ? off64_t(blocks.f_bsize) : 4096;
  const Use file(fd);
  if (!file || !writes(file->flags())) return failed(EBADF);
  ContainerStream& stream = *file->stream;
  int64_t size = 0;
  if (const int error = errno_of([&] { size = stream.status().size; })) return failed(error);
  if (offset % block != 0 || length % block != 0) return failed(EINVAL);
  if (offset >= size || (!insert && offset + length >= size)) return failed(EINVAL);
  if (insert && size > largest_stream - length) return failed(EFBIG);
  if (const int error = errno_of([&] {
        if (!insert) {
          shift(stream, offset + length, size, -length);
          stream.truncate(size - length);
          return;
        }
        make_room(stream, size, length);
        shift(stream, offset, size, length);
        stream.allocate(offset, length, false, Allocation::zero);
      }))
    return failed(error);
  note_written(*file, offset, size + length);
  return 0;
}

}  // namespace

int allocate_captured(int fd, int mode, off64_t offset, off64_t length) noexcept {
  if (!is_usable(fd)) return failed(EBADF);
  if (offset < 0 || length <= 0) return failed(EINVAL);
  if (mode == FALLOC_FL_COLLAPSE_RANGE || mode == FALLOC_FL_INSERT_RANGE)
    return move_range(fd, mode == FALLOC_FL_INSERT_RANGE, offset, length);
  off64_t end = 0;
  if (__builtin_add_overflow(offset, length, &end) || end > largest_stream) return failed(EFBIG);
  if (!can_have(fd, length)) return failed(ENOSPC);
  for (off64_t part = 0; offset < end; offset += part) {
    part = std::min(end - offset, allocated_at_once);
    if (const int result = allocate_part(fd, mode, offset, part)) return result;
  }
  return 0;
}

int sync_captured(int fd) noexcept {
  const Use file(fd);
  if (!file || (file->flags() & O_PATH)) return failed(EBADF);
  return result_of(errno_of([&] { file->stream->sync(); }));
}

}  // namespace sheaf::preload

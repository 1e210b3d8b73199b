#include "multifile/create/copy_stream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "base/thread_value.hpp"
#include "multifile/create/constants.hpp"

namespace sheaf::multifile {

using namespace creation_constants;

namespace {

// Returns a buffer that is allocated once per thread, because tools copy many small streams in sequence.
std::span<std::byte> buffer_of_thread() {
  static constinit ThreadValue<LineBytes> buffers;
  LineBytes* const buffer = buffers.get();
  if (!buffer) throw std::bad_alloc();
  if (buffer->empty()) buffer->resize(copy_buffer);
  return *buffer;
}

}  // namespace

void write_data(File& target, std::span<const std::byte> bytes, int64_t to) {
  size_t begin = 0;
  for (size_t at = 0; at <= bytes.size();) {
    const auto stretch = bytes.subspan(at, std::min<size_t>(smallest_hole, bytes.size() - at));
    if (stretch.empty() || is_zero(stretch)) {
      if (at > begin) target.write_at(bytes.subspan(begin, at - begin), to + static_cast<int64_t>(begin));
      begin = at + stretch.size();
    }
    at += std::max<size_t>(1, stretch.size());
  }
}

void close_output(File& output, int64_t length) {
  if (length > 0 && output.status().size < length) output.resize(length);
  output.close();
}

void RangeCopier::add(File& source, int64_t from, int64_t to, int64_t length) {
  SHEAF_ASSERT(from >= 0 && to >= 0 && length >= 0);
  if (source_ != &source || from != from_ + length_ || to != to_ + length_) {
    if (source_ != &source) {
      finish();
    } else {
      copy_range();
    }
    source_ = &source;
    from_ = from;
    to_ = to;
  }
  length_ += length;
}

void RangeCopier::finish() {
  copy_range();
  write_buffer();
  source_ = nullptr;
  known_ = {};
}

void RangeCopier::copy_range() {
  const int64_t end = from_ + length_;
  length_ = 0;
  for (int64_t from = from_; from < end;) {
    int64_t data = from;
    int64_t hole = end;
    if (end - from >= smallest_hole) {
      if (from < known_.offset || from >= known_.end()) {
        const int64_t next = source_->next(Space::data, from);
        known_ = {next, next < end ? std::max<int64_t>(source_->next(Space::hole, next) - next, 1) : 0};
      }
      data = std::clamp(known_.offset, from, end);
      if (data < end) hole = std::min(known_.end(), end);
    }
    if (data > from) progress_.advance(data - from);
    for (from = data; from < hole;) {
      const int64_t piece = std::min(hole - from, WorkProgress::piece_bytes);
      copy_data(from, from + (to_ - from_), piece);
      from += piece;
      progress_.advance(piece);
    }
  }
}

void RangeCopier::copy_data(int64_t from, int64_t to, int64_t length) {
  if (length >= smallest_move_) {
    write_buffer();
    sheaf::copy_range(*source_, target_, from, to, length);
    return;
  }
  if (to != buffer_to_ + buffered_ || buffered_ + length > copy_buffer) write_buffer();
  if (buffered_ == 0) buffer_to_ = to;
  if (buffer_.empty()) buffer_.resize(copy_buffer);
  const auto place = std::span(buffer_).subspan(static_cast<size_t>(buffered_), static_cast<size_t>(length));
  if (source_->read_at(place, from) < place.size())
    throw file_error(Code::damaged, source_->path(),
                     "ends within the " + std::to_string(length) + " bytes at offset " +
                         std::to_string(from) + " that belong to a task; it has been shortened");
  buffered_ += length;
}

void RangeCopier::write_buffer() {
  if (buffered_ > 0) target_.write_at(std::span(buffer_).first(static_cast<size_t>(buffered_)), buffer_to_);
  buffered_ = 0;
}

int64_t RangeCopier::add_stream(const PhysicalFile& file, const TaskRow& row, int64_t to) {
  int64_t length = 0;
  for_each_extent(row.geometry, row.sizes, [&](int64_t offset, int64_t bytes) {
    add(*file.file, offset, to + length, bytes);
    length += bytes;
  });
  return length;
}

int64_t copy_stream(const PhysicalFile& file, const TaskRow& row, File& target, int64_t to,
                    WorkProgress& progress, const StreamSums& wanted) {
  const auto& [piece, sums] = wanted;
  SHEAF_ASSERT(piece <= (512 << 10) && (piece == 0 || sums));
  ReadStream stream;
  stream.load(file.file, row.geometry, row.sizes, {}, row.sums);
  const std::span<std::byte> buffer = buffer_of_thread();
  const std::span<std::byte> pieces =
      buffer.first(piece == 0 ? buffer.size() : buffer.size() / piece * piece);
  int64_t length = 0;
  for (size_t got = pieces.size(); got == pieces.size(); length += static_cast<int64_t>(got)) {
    got = stream.read(pieces);
    const auto found = pieces.first(got);
    for (size_t at = 0; piece > 0 && at < got; at += piece)
      sums->push_back(crc32c(0, found.subspan(at, std::min<size_t>(piece, got - at))));
    write_data(target, found, to + length);
    progress.advance(static_cast<int64_t>(got));
  }
  return length;
}

}  // namespace sheaf::multifile

#include "multifile/copy_stream.hpp"

#include <algorithm>

namespace sheaf {

namespace {
// Looking for holes costs two system calls: not worth it for less.
constexpr int64_t smallest_hole = 16 << 10;
}  // namespace

void copy_range(File& source, File& target, int64_t from, int64_t to, int64_t length,
                WorkProgress& progress) {
  const int64_t end = from + length;
  const int64_t distance = to - from;
  while (from < end) {
    int64_t data = from;
    int64_t hole = end;
    if (end - from >= smallest_hole) {
      data = std::clamp(source.next_data(from), from, end);
      if (data < end) hole = std::clamp(source.next_hole(data), data + 1, end);
    }
    if (data > from) progress.advance(data - from);
    for (from = data; from < hole;) {
      const int64_t piece = std::min(hole - from, WorkProgress::piece_bytes);
      source.copy_to(target, from, from + distance, piece);
      from += piece;
      progress.advance(piece);
    }
  }
}

void RangeCopier::add(File& source, int64_t from, int64_t to, int64_t length) {
  if (source_ != &source || from != from_ + length_ || to != to_ + length_) {
    finish();
    source_ = &source;
    from_ = from;
    to_ = to;
  }
  length_ += length;
}

void RangeCopier::finish() {
  if (length_ > 0) copy_range(*source_, target_, from_, to_, length_, progress_);
  source_ = nullptr;
  length_ = 0;
}

int64_t RangeCopier::add_stream(const Multifile& multifile, int64_t task, int64_t to) {
  File& source = *multifile.file_of(task).file;
  int64_t length = 0;
  for_each_extent(multifile.geometry(task), multifile.sizes_of(task), [&](int64_t offset, int64_t bytes) {
    add(source, offset, to + length, bytes);
    length += bytes;
  });
  return length;
}

}  // namespace sheaf

#include "multifile/stream/write_stream.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

void WriteStream::load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank) {
  SHEAF_ASSERT(buffer_.size() == 0);
  buffer_.clear();
  chunks_.load(geometry, std::move(blocks), local_rank);
}

TaskBlocks WriteStream::park() {
  flush();
  buffer_.release();
  return std::exchange(chunks_.blocks(), TaskBlocks::with_sums(chunks_.blocks().piece));
}

StdioHandle& WriteStream::share(bool with_stream) {
  if (!chunks_.handle()) {
    flush_buffer();
    attach(std::make_unique<StdioHandle>(target().file(), true, with_stream));
  }
  return *chunks_.handle();
}

void WriteStream::begin_next_chunk() {
  flush_buffer();
  chunks_.begin_next();
  buffer_.clear();
}

void WriteStream::ensure_free_space(int64_t bytes) {
  chunks_.learn();
  if (bytes < 0 || bytes > geometry().size) chunks_.too_large(bytes);
  if (bytes > room()) begin_next_chunk();
}

// Runs act(), which appends `bytes` bytes; restores the stream if it fails.
template <class Act>
inline void WriteStream::write_or_return(int64_t bytes, Act&& act) {
  const Mark before = mark();
  if (geometry().size == 0) chunks_.too_large(bytes);
  try {
    act();
  } catch (...) {
    return_to(before);
    throw;
  }
}

void WriteStream::write(std::span<const std::byte> data) {
  const int64_t bytes = std::ssize(data);
  if (bytes == 0) return chunks_.learn();
  write_or_return(bytes, [&] {
    if (bytes > room() && bytes <= geometry().size) begin_next_chunk();
    fill(data);
  });
}

void WriteStream::write_filling(std::span<const std::byte> head, std::span<const std::byte> body) {
  write_or_return(std::ssize(head) + std::ssize(body), [&] {
    fill(head);
    fill(body);
  });
}

void WriteStream::fill(std::span<const std::byte> data) {
  while (!data.empty()) {
    if (room() <= 0) begin_next_chunk();
    SHEAF_DEBUG_ASSERT(room() > 0);
    const auto piece = data.first(static_cast<size_t>(std::min(room(), std::ssize(data))));
    put(piece);
    data = data.subspan(piece.size());
  }
}

void WriteStream::return_to(const Mark& mark) {
  SHEAF_ASSERT(mark.at.block >= 0 && mark.at.block <= chunks_.chunk());
  TaskBlocks& blocks = chunks_.blocks();
  if (chunks_.chunk() == mark.at.block && mark.at.offset >= blocks.position) {
    buffer_.return_to(mark.at.offset - blocks.position);
    blocks.high = mark.high;
  } else {  // everything before the mark is in the file
    chunks_.return_to(mark.at.block, mark.at.offset, mark.high);
    buffer_.clear();
  }
  chunks_.move_handle();
}

void WriteStream::put(std::span<const std::byte> piece) {
  if (buffer_.max() == 0 || chunks_.handle()) return chunks_.write(piece);
  if (std::ssize(piece) >= std::min(direct_bytes, buffer_.max())) piece = put_directly(piece);
  while (!piece.empty()) {
    if (buffer_.is_full()) {
      if (!buffer_.grow(std::ssize(piece))) flush_buffer();
      buffer_.open(chunks_.offset(), chunks_.room());
    }
    piece = buffer_.append(piece);
  }
}

// Writes the buffered bytes and `piece` in one transfer. Returns the rest of `piece` that the caller must
// copy into the buffer; it is shorter than the distance of two borders.
//
// A piece as large as the buffer reaches the file whole, as does the first one after an empty buffer. Nothing
// is left to be written alone at the end, for which some file systems would read a block. The buffer keeps
// the bytes after the last border, so that the next transfer writes their block whole. A smaller piece is
// written up to its last border: to write its rest twice would cost too much.
std::span<const std::byte> WriteStream::put_directly(std::span<const std::byte> piece) {
  const int64_t end = file_position() + std::ssize(piece);
  const bool fills_chunk = std::ssize(piece) == room();
  const int64_t rest = fills_chunk ? 0 : end % std::min(stream_constants::border, buffer_.max());
  const auto to_border = piece.first(piece.size() - static_cast<size_t>(rest));
  const auto tail = piece.subspan(to_border.size());
  const bool whole =
      rewriting_ == Rewriting::allowed && (std::ssize(piece) >= buffer_.max() || buffer_.bytes().empty());
  if (whole && buffer_.capacity() < rest) buffer_.grow(rest);
  chunks_.write(buffer_.bytes(), whole ? piece : to_border, buffer_.written());
  if (!whole) {
    buffer_.clear();
    return tail;
  }
  buffer_.keep_written(tail);
  if (rest > 0 && buffer_.capacity() > rest) buffer_.open(chunks_.offset(), chunks_.room());
  return {};
}

void WriteStream::flush_buffer() {
  if (buffer_.size() > 0) chunks_.write(buffer_.bytes(), buffer_.written());
  buffer_.clear();
}

void WriteStream::flush() {
  target().take_back_records();
  chunks_.learn();
  flush_buffer();
}

}  // namespace sheaf::multifile

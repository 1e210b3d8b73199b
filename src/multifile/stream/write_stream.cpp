#include "multifile/stream/write_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

using namespace stream_constants;

void WriteStream::load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank) {
  SHEAF_ASSERT(buffered() == 0 && geometry.size >= 0 && local_rank >= 0);
  geometry_ = geometry;
  blocks_ = std::move(blocks);
  local_rank_ = static_cast<uint32_t>(local_rank);
  close_window();
  move_handle();
}

TaskBlocks WriteStream::park() {
  flush();
  buffer_.reset();
  capacity_ = 0;
  close_window();
  return std::exchange(blocks_, TaskBlocks::with_sums(piece()));
}

StdioHandle& WriteStream::share(bool with_stream) {
  if (!handle()) {
    flush_buffer();
    attach(std::make_unique<StdioHandle>(*file_, true, with_stream));
  }
  return *handle();
}

std::unique_ptr<StdioHandle> WriteStream::release_handle() {
  learn_from_handle();
  return handle() ? std::move(attached_->handle) : nullptr;
}

void WriteStream::forget_handle() {
  if (!handle()) return;
  const std::optional<int64_t> left_at = handle()->forget();
  attached_->handle.reset();
  if (left_at) learn_position(*left_at);
}

void WriteStream::attach(std::unique_ptr<StdioHandle> handle) {
  SHEAF_ASSERT(handle && buffered() == 0);
  blocks_.share();
  handle->move_to(file_position());
  attached().handle = std::move(handle);
  close_window();
}

void WriteStream::learn_from_handle() {
  if (attached_ && attached_->back) {
    auto back = std::exchange(attached_->back, nullptr);
    try {
      back();
    } catch (...) {
      attached_->back = std::move(back);
      throw;
    }
  }
  if (!handle()) return;
  // stdio discards bytes that it could not write. No later flush can store them, so they are lost.
  if (handle()->failed())
    lose(file_error(Code::io, file_->path(),
                    "a write of the program to its own stream has failed (ferror); bytes are missing from " +
                        std::to_string(file_position()) + " on"));
  learn_position(handle()->position());
}

void WriteStream::learn_position(int64_t in_file) {
  const int64_t position = in_file - geometry_.offset(chunk());
  if (position < 0)
    throw Error(Code::out_of_range, "'" + file_->path() + "': the stream was moved to offset " +
                                        std::to_string(in_file) +
                                        ", in front of the current chunk of the task");
  if (position > geometry_.size) return take_in(position - geometry_.size);
  blocks_.position = position;
  blocks_.high = std::max(blocks_.high, position);
}

void WriteStream::too_large(int64_t bytes) const {
  throw Error(Code::out_of_range, "could not write " + std::to_string(bytes) + " bytes, chunksize=" +
                                      std::to_string(geometry_.size) + " ('" + file_->path() + "')");
}

void WriteStream::begin_next_chunk() {
  flush_buffer();
  const int64_t next = geometry_.offset(chunk() + 1);  // throws beyond 2^63, before anything changes
  if (journal_key_.watch) journal_key_.watch->before_writing(next);
  if (durable_) require_nothing_lost();
  if (durable_ && make_journal() && !journal()->deferred()) sync();
  try {
    report(blocks(), local_rank_, true);
    if (records_wait() && !journal()->deferred() &&
        journal()->waiting() * geometry_.size >= recorded_at_once) {
      sync();
      journal()->confirm(*file_);
    }
    blocks_.finish_block(geometry_.size);
  } catch (...) {  // the chunk receives more bytes, so a collector must not record it as finished
    if (journal()) journal()->withdraw(local_rank_, chunk(), chunk(), 0);
    throw;
  }
  close_window();
  move_handle();
}

void WriteStream::ensure_free_space(int64_t bytes) {
  learn_from_handle();
  if (bytes < 0 || bytes > geometry_.size) too_large(bytes);
  if (bytes > geometry_.size - position()) begin_next_chunk();
}

// Runs act(), which appends `bytes` bytes; restores the stream if it fails.
template <class Act>
inline void WriteStream::write_or_return(int64_t bytes, Act&& act) {
  const Mark before = mark();
  if (geometry_.size == 0) too_large(bytes);
  try {
    act();
  } catch (...) {
    return_to(before);
    throw;
  }
}

void WriteStream::write(std::span<const std::byte> data) {
  const int64_t bytes = std::ssize(data);
  if (bytes == 0) return learn_from_handle();
  write_or_return(bytes, [&] {
    if (bytes > geometry_.size - position() && bytes <= geometry_.size) begin_next_chunk();
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
    if (position() >= geometry_.size) begin_next_chunk();
    SHEAF_DEBUG_ASSERT(position() < geometry_.size);
    const int64_t left = geometry_.size - position();
    const auto piece = data.first(static_cast<size_t>(std::min(left, std::ssize(data))));
    put(piece);
    data = data.subspan(piece.size());
  }
}

void WriteStream::return_to(const Mark& mark) {
  SHEAF_ASSERT(mark.chunk >= 0 && mark.chunk <= chunk());
  if (chunk() == mark.chunk && mark.position >= blocks_.position) {
    window_.at = buffer_.get() + (mark.position - blocks_.position);
    blocks_.high = mark.high;
  } else {  // everything before the mark is in the file
    if (chunk() > mark.chunk && journal())
      journal()->withdraw(local_rank_, mark.chunk, chunk(), std::max(mark.high, mark.position));
    blocks_.return_to(mark.chunk, mark.position, mark.high, geometry_.size);
    close_window();
  }
  move_handle();
}

void WriteStream::put(std::span<const std::byte> piece) {
  if (max_buffer_ == 0 || handle()) return transfer(piece);
  if (std::ssize(piece) >= std::min<int64_t>(direct_bytes, max_buffer_)) piece = put_directly(piece);
  while (!piece.empty()) {
    if (window_.at == window_.end) make_room(std::ssize(piece));
    const auto n = std::min(piece.size(), static_cast<size_t>(window_.end - window_.at));
    std::memcpy(window_.at, piece.data(), n);
    window_.at += n;
    piece = piece.subspan(n);
  }
}

// Writes the buffered bytes and `piece`, up to its last border, in one transfer. Returns the rest of `piece`,
// which is shorter than the distance of two borders; the caller copies it into the buffer.
std::span<const std::byte> WriteStream::put_directly(std::span<const std::byte> piece) {
  const int64_t end = file_offset() + buffered() + std::ssize(piece);
  const bool fills_chunk = position() + static_cast<int64_t>(piece.size()) == geometry_.size;
  const int64_t rest = fills_chunk ? 0 : end % std::min<int64_t>(border, max_buffer_);
  const auto direct = piece.first(piece.size() - static_cast<size_t>(rest));
  take_back_records();
  const TaskBlocks::ChecksumState before = blocks_.sums();
  try {
    write_summed({buffer_.get(), static_cast<size_t>(buffered())}, direct);
  } catch (...) {
    blocks_.return_to(before);
    throw;
  }
  blocks_.move(buffered() + static_cast<int64_t>(direct.size()));
  close_window();
  return piece.last(static_cast<size_t>(rest));
}

// Writes `head` and `body` at the position without advancing it. Bytes with checksums are written in parts,
// and each part is summed after its write: the kernel's copy has loaded it into the cache.
void WriteStream::write_summed(std::span<const std::byte> head, std::span<const std::byte> body) {
  if (watches_length_) require_length();
  const int64_t begin = file_offset();
  int64_t done = 0;
  do {
    const int64_t at = begin + done + std::ssize(head);
    const size_t n =
        piece() == 0
            ? body.size()
            : std::min<size_t>(body.size(), static_cast<size_t>(summed_at_once - at % summed_at_once));
    const auto part = body.first(n);
    const Piece<const std::byte> pieces[] = {{begin + done, head}, {at, part}};
    file_->write_pieces(pieces);
    blocks_.sum(head, done);
    blocks_.sum(part, done + std::ssize(head));
    done += std::ssize(head) + static_cast<int64_t>(n);
    head = {};
    body = body.subspan(n);
  } while (!body.empty());
}

void WriteStream::transfer(std::span<const std::byte> bytes) {
  const int64_t at = file_offset();
  if (watches_length_) require_length();
  take_back_records();
  if (handle() && handle()->second_stream()) {
    if (handle()->write(bytes) < bytes.size())
      throw os_error("cannot write through the second stream of", file_->path(), errno);
    handle()->flush();
  } else {
    file_->write_at(bytes, at);
    if (handle()) handle()->move_to(at + static_cast<int64_t>(bytes.size()));
  }
  blocks_.advance(bytes);
}

void WriteStream::flush_buffer() {
  if (buffered() == 0) return;
  transfer({buffer_.get(), static_cast<size_t>(buffered())});
  close_window();
}

void WriteStream::flush() {
  take_back_records();
  learn_from_handle();
  flush_buffer();
}

void WriteStream::commit() {
  flush();
  require_nothing_lost();
  if (durable_ || records_wait()) sync();
  report(blocks(), local_rank_);
  if (!journal()) return;
  journal()->confirm(*file_);
  if (durable_ || records_wait()) journal()->sync(*file_);
}

void WriteStream::record_progress() {
  if (!make_journal()) return;
  flush();
  if (durable_ && !journal()->deferred()) sync();
  report(blocks(), local_rank_);
}

// Records nothing after a failed sync, because the contents of the disk are then unknown.
void WriteStream::report(const TaskBlocks& blocks, int64_t local_rank, bool finished) {
  if (JournalWriter* const to = make_journal(); to && !attached_->lost)
    to->report(*file_, local_rank, blocks.count() - 1, blocks.high, finished);
}

JournalWriter* WriteStream::make_journal() {
  if (!journal_on_) return nullptr;
  auto& journal = attached().journal;
  if (!journal)
    journal = std::make_unique<JournalWriter>(*store_, journal_key_,
                                              durable_ ? Journaling::durable : Journaling::best_effort);
  return journal.get();
}

void WriteStream::require_nothing_lost() const {
  if (!attached_ || !attached_->lost) return;
  const Error& e = *attached_->lost;
  throw Error(
      e.code(),
      "data of '" + file_->path() + "' may be lost: an earlier write or flush has failed: " + e.what(),
      e.errno_value());
}

// Makes room when the window is full. Enlarges the buffer, or writes its contents if it has its maximum size.
// The window ends at the end of the buffer or of the chunk. A buffer of maximum size ends at a multiple of
// its size in the file. The page cache then stores each transfer as few large pages (docs/tuning.md).
void WriteStream::make_room(int64_t wanted) {
  const int64_t held = buffered();
  if (capacity_ < max_buffer_) {
    const int64_t grown =
        std::min<int64_t>(max_buffer_, std::max({first_buffer, held + wanted, 4 * capacity_}));
    auto larger = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(grown));
    if (held > 0) std::memcpy(larger.get(), buffer_.get(), static_cast<size_t>(held));
    buffer_ = std::move(larger);
    capacity_ = grown;
    window_.at = buffer_.get() + held;
  } else {
    flush_buffer();
  }
  const int64_t to_border = capacity_ - file_offset() % capacity_;
  const bool ends_at_border = capacity_ == max_buffer_ && to_border > buffered();
  const int64_t usable = ends_at_border ? to_border : capacity_;
  window_.end = buffer_.get() + std::min(usable, geometry_.size - blocks_.position);
  SHEAF_DEBUG_ASSERT(window_.at < window_.end && window_.end <= buffer_.get() + capacity_);
}

void WriteStream::require_length() const {
  if (handle()) return;
  int64_t end = blocks_.position > 0 ? file_offset() : 0;
  if (end == 0 && chunk() > 0)
    end = geometry_.offset(chunk() - 1) + std::min(blocks_.size_of(chunk() - 1), geometry_.size);
  const int64_t size = end > 0 ? file_->status().size : 0;
  if (size >= end) return;
  throw file_error(Code::foreign, file_->path(),
                   "was cut to " + std::to_string(size) +
                       " bytes while this program is writing it: what it has written is not there any more");
}

}  // namespace sheaf::multifile

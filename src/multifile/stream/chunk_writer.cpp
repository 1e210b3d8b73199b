#include "multifile/stream/chunk_writer.hpp"

#include <algorithm>
#include <cerrno>

#include "base/assert.hpp"
#include "multifile/stream/constants.hpp"
#include "multifile/stream/overruns.hpp"

namespace sheaf::multifile {

namespace {

// Returns the number of bytes of the next part of `left` bytes that are summed in parts. It begins at
// `offset`. All parts but the last one end at borders, and the last one is not shorter than the distance of
// two borders.
size_t summed_part(size_t left, int64_t offset) {
  constexpr int64_t at_once = stream_constants::summed_at_once, border = stream_constants::border;
  const auto part = static_cast<size_t>(at_once - offset % border);
  return left <= at_once || left < part + border ? left : part;
}

}  // namespace

void ChunkWriter::load(const layout::ChunkGeometry& geometry, TaskBlocks blocks, int64_t local_rank) {
  SHEAF_ASSERT(geometry.size >= 0 && local_rank >= 0);
  geometry_ = geometry;
  blocks_ = std::move(blocks);
  local_rank_ = static_cast<uint32_t>(local_rank);
  let_file_sum();
  move_handle();
}

// Leaves the checksums of the current chunk to a file that computes them as it copies the bytes. take_sums()
// fetches them. All bytes of the chunk must follow, or this must have been called for it before.
void ChunkWriter::let_file_sum() {
  const bool may_begin = blocks_.position == 0 || blocks_.unsummed;
  if (blocks_.piece > 0 && may_begin && geometry_.size > 0 &&
      target_.file().begin_sums(geometry_.offset(chunk()), blocks_.piece))
    blocks_.share();
}

void ChunkWriter::write(std::span<const std::byte> bytes, int64_t again) {
  SHEAF_ASSERT(again >= 0 && again <= blocks_.position && (again == 0 || !handle()));
  const int64_t at = offset() - again;
  if (watches_length_) require_length();
  target_.take_back_records();
  if (handle() && handle()->second_stream()) {
    if (handle()->write(bytes) < bytes.size())
      throw os_error("cannot write through the second stream of", target_.file().path(), errno);
    handle()->flush();
  } else {
    target_.file().write_at(bytes, at);
    if (handle()) handle()->move_to(at + std::ssize(bytes));
  }
  blocks_.advance(bytes.subspan(static_cast<size_t>(again)));
}

// More than 1 MiB with checksums are written in parts. Each part is summed after its write, because the
// kernel's copy has loaded it into the cache.
void ChunkWriter::write(std::span<const std::byte> head, std::span<const std::byte> body, int64_t again) {
  SHEAF_ASSERT(again >= 0 && again <= blocks_.position && again <= std::ssize(head) && !handle());
  target_.take_back_records();
  const TaskBlocks::ChecksumState before = blocks_.sums();
  int64_t done = 0;  // new bytes
  try {
    if (watches_length_) require_length();
    const int64_t begin = offset();
    do {
      const int64_t new_in_head = std::ssize(head) - again;
      const int64_t at = begin + done + new_in_head;
      const bool sums = blocks_.piece > 0 && !blocks_.unsummed;
      const auto part = body.first(sums ? summed_part(body.size(), at) : body.size());
      const Piece<const std::byte> pieces[] = {{begin + done - again, head}, {at, part}};
      target_.file().write_pieces(pieces);
      blocks_.sum(head.last(static_cast<size_t>(new_in_head)), done);
      blocks_.sum(part, done + new_in_head);
      done += new_in_head + std::ssize(part);
      head = {};
      again = 0;
      body = body.subspan(part.size());
    } while (!body.empty());
  } catch (...) {
    blocks_.return_to(before);
    throw;
  }
  blocks_.move(done);
}

void ChunkWriter::begin_next() {
  const int64_t next = geometry_.offset(chunk() + 1);  // throws beyond 2^63, before anything changes
  if (ChunkWatch* const watch = target_.journal_key().watch) watch->before_writing(next);
  if (target_.durable()) target_.require_nothing_lost();
  target_.sync_before_report();
  try {
    target_.report(progress(true));
    target_.confirm_many(geometry_.size);
    blocks_.finish_block(geometry_.size);
    let_file_sum();
  } catch (...) {  // the chunk receives more bytes, so a collector must not record it as finished
    if (JournalWriter* const journal = target_.journal()) journal->withdraw(local_rank_, chunk(), chunk(), 0);
    throw;
  }
  move_handle();
}

void ChunkWriter::return_to(int64_t chunk, int64_t position, int64_t high) {
  JournalWriter* const journal = target_.journal();
  if (journal && this->chunk() > chunk)
    journal->withdraw(local_rank_, chunk, this->chunk(), std::max(high, position));
  blocks_.return_to(chunk, position, high, geometry_.size);
}

void ChunkWriter::attach(std::unique_ptr<StdioHandle> handle) {
  blocks_.share();
  handle->move_to(offset());
  shared().handle = std::move(handle);
}

std::unique_ptr<StdioHandle> ChunkWriter::release_handle() {
  learn();
  return shared_ ? std::move(shared_->handle) : nullptr;
}

void ChunkWriter::forget_handle() {
  if (!handle()) return;
  const std::optional<int64_t> left_at = handle()->forget();
  shared_->handle.reset();
  if (left_at) learn_position(*left_at);
}

void ChunkWriter::learn() {
  if (shared_ && shared_->back) std::exchange(shared_->back, nullptr)();
  if (!handle()) return;
  // stdio discards bytes that it could not write. No later flush can store them, so they are lost.
  if (handle()->failed())
    target_.lose(file_error(Code::io, target_.file().path(),
                            "a write of the program to its own stream has failed (ferror); bytes are missing "
                            "from " +
                                std::to_string(offset()) + " on"));
  learn_position(handle()->position());
}

void ChunkWriter::learn_position(int64_t in_file) {
  const int64_t position = in_file - geometry_.offset(chunk());
  if (position < 0)
    throw Error(Code::out_of_range, "'" + target_.file().path() + "': the stream was moved to offset " +
                                        std::to_string(in_file) +
                                        ", in front of the current chunk of the task");
  if (position > geometry_.size) return take_in(position - geometry_.size);
  blocks_.position = position;
  blocks_.high = std::max(blocks_.high, position);
}

// Moves the `tail` bytes that the program has written beyond its chunk, which is full, to further chunks, and
// continues the stream after them.
void ChunkWriter::take_in(int64_t tail) {
  File& file = target_.file();
  const int64_t begin = geometry_.offset(chunk()) + geometry_.size;
  blocks_.position = blocks_.high = geometry_.size;
  // A program that only seeks beyond its chunk has written nothing.
  tail = std::min(tail, file.status().size - begin);
  if (tail <= 0) return move_handle();
  TaskBlocks::Overrun& overrun = blocks_.add_overrun(tail);
  try {
    if (geometry_.size == 0) too_large(tail);
    const int64_t last = geometry_.offset(chunk() + 1 + (tail - 1) / geometry_.size);
    if (ChunkWatch* const watch = target_.journal_key().watch) watch->before_writing(last);
    move_tail(file, geometry_, chunk(), tail);
    while (overrun.kept < tail) {
      begin_next();
      blocks_.share();
      blocks_.position = blocks_.high = std::min(tail - overrun.kept, geometry_.size);
      overrun.kept += blocks_.high;
    }
    move_handle();
  } catch (const Error& e) {
    try {
      move_handle();
    } catch (const Error&) {  // the next call retries
    }
    throw Error(e.code(),
                "'" + file.path() + "': " + std::to_string(tail - overrun.kept) +
                    " bytes that the program wrote behind its chunk, at offset " + std::to_string(begin) +
                    ", are lost: " + e.what(),
                e.errno_value());
  }
  shared_->overrun = true;
}

void ChunkWriter::too_large(int64_t bytes) const {
  throw Error(Code::out_of_range, "could not write " + std::to_string(bytes) + " bytes, chunksize=" +
                                      std::to_string(geometry_.size) + " ('" + target_.file().path() + "')");
}

void ChunkWriter::require_length() const {
  if (handle()) return;
  int64_t end = blocks_.position > 0 ? offset() : 0;
  if (end == 0 && chunk() > 0)
    end = geometry_.offset(chunk() - 1) + std::min(blocks_.size_of(chunk() - 1), geometry_.size);
  File& file = target_.file();
  const int64_t size = end > 0 ? file.status().size : 0;
  if (size >= end) return;
  throw file_error(Code::foreign, file.path(),
                   "was cut to " + std::to_string(size) +
                       " bytes while this program is writing it: what it has written is not there any more");
}

}  // namespace sheaf::multifile
